"""Loads an Orbax checkpoint with Orbax: a run's folder through CheckpointManager, else one tree.

A run's folder is one whose entries are numbered steps; its newest step is loaded, as a resuming trainer
does.

Family: jax.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Two devices, so that arrays can be sharded; saved and restored alike.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jax
import numpy as np
import orbax.checkpoint as ocp

from common import loader_main


def load(path: str) -> Any:
    root = Path(path).absolute()
    if any(entry.name.isdigit() and entry.is_dir() for entry in root.iterdir()):
        with ocp.CheckpointManager(root) as manager:
            step = manager.latest_step()
            items = ocp.args.Composite(state=ocp.args.StandardRestore(), metadata=ocp.args.JsonRestore())
            restored = manager.restore(step, args=items)
            return step, _arrays(restored.state), restored.metadata
    with ocp.PyTreeCheckpointer() as checkpointer:
        tree = checkpointer.metadata(root).item_metadata.tree
        # Plain arrays, because the job that saved may have had other devices than this process.
        how = jax.tree.map(lambda _: ocp.RestoreArgs(restore_type=np.ndarray), tree)
        return _arrays(checkpointer.restore(root, restore_args=how))


def _arrays(tree: Any) -> Any:
    """Every leaf as the array it is, whatever devices it lies on."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


if __name__ == "__main__":
    loader_main(load)
