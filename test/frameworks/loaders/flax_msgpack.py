"""Loads a Flax msgpack checkpoint with flax.training.checkpoints.restore_checkpoint: the whole tree.

Family: jax.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from flax.training import checkpoints

from common import loader_main


def load(path: str) -> Any:
    if not os.path.exists(path):
        raise FileNotFoundError(path)  # restore_checkpoint would answer with None
    return checkpoints.restore_checkpoint(path, target=None)


if __name__ == "__main__":
    loader_main(load)
