"""Makes Orbax fixtures: parameters, optax's Adam state, the random key and the step of a tiny training.

orbax-ocdbt-zarr2      one tree by StandardCheckpointer, as it comes: OCDBT database, zarr of version 2
orbax-ocdbt-zarr3      the same with zarr of version 3, one array sharded over two devices
orbax-zarr2            PyTreeCheckpointer without OCDBT: one folder per array
orbax-zarr3            the same with zarr of version 3
orbax-manager          a run's folder with three steps, written by CheckpointManager, each with a JSON item
orbax-weights          parameters alone
orbax-deep-tree        the OCDBT database rewritten by tensorstore, one commit per key and tiny nodes, so
                       that its trees have the interior nodes and version nodes that Orbax alone produces
                       only in huge checkpoints

Family: jax.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from loaders.orbax_trees import load, ocp  # first: it chooses platform and devices

import jax
import jax.numpy as jnp
import numpy as np
import optax
import tensorstore as ts

from common import start_fixture, write_fixture

PACKAGES = ("orbax-checkpoint", "tensorstore", "jax", "optax", "numpy")
NOTES = {
    "orbax-manager": "a run's folder with steps 100, 200 and 300",
    "orbax-deep-tree": "saved by Orbax, then its OCDBT database rewritten by tensorstore with small nodes",
}
OPTIMIZER = optax.adam(1e-2)


def initial() -> dict[str, Any]:
    key, first, second = jax.random.split(jax.random.PRNGKey(7), 3)
    params = {
        "hidden": {"kernel": jax.random.normal(first, (16, 24)) * 0.3, "bias": jnp.zeros(24)},
        "head": {"kernel": jax.random.normal(second, (24, 4)) * 0.3, "bias": jnp.zeros(4, jnp.bfloat16)},
    }
    return {"params": params, "opt_state": OPTIMIZER.init(params), "rng": key, "step": 0}


@jax.jit
def advance(params: Any, opt_state: Any, key: jax.Array) -> tuple[Any, Any, jax.Array]:
    key, use = jax.random.split(key)
    inputs = jax.random.normal(use, (8, 16))

    def loss(tree: Any) -> jax.Array:
        hidden = jax.nn.relu(inputs @ tree["hidden"]["kernel"] + tree["hidden"]["bias"])
        return jnp.mean((hidden @ tree["head"]["kernel"] + tree["head"]["bias"] - inputs[:, :4]) ** 2)

    updates, opt_state = OPTIMIZER.update(jax.grad(loss)(params), opt_state, params)
    return optax.apply_updates(params, updates), opt_state, key


def train_until(state: dict[str, Any], step: int) -> dict[str, Any]:
    params, opt_state, key = state["params"], state["opt_state"], state["rng"]
    for _ in range(state["step"], step):
        params, opt_state, key = advance(params, opt_state, key)
    return {"params": params, "opt_state": opt_state, "rng": key, "step": step}


def over_devices(array: jax.Array) -> jax.Array:
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
    return jax.device_put(array, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data")))


def save_tree(path: Path, tree: Any, *, ocdbt: bool, zarr3: bool) -> None:
    handler = ocp.PyTreeCheckpointHandler(use_ocdbt=ocdbt, use_zarr3=zarr3)
    with ocp.Checkpointer(handler) as checkpointer:
        checkpointer.save(path.absolute(), args=ocp.args.PyTreeSave(tree))


def save_standard(path: Path, tree: Any) -> None:
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(path.absolute(), tree)


def save_deep(path: Path, tree: Any) -> None:
    """Saves with Orbax, then copies every key into a database with small nodes in place of the first."""
    save_standard(path, tree)
    new = path / "new"
    config = {"max_decoded_node_bytes": 1500, "max_inline_value_bytes": 100, "version_tree_arity_log2": 2}
    source = ts.KvStore.open({"driver": "ocdbt", "base": f"file://{path}/"}).result()
    target = ts.KvStore.open({"driver": "ocdbt", "base": f"file://{new}/", "config": config}).result()
    for key in source.list().result():
        target.write(key, source.read(key).result().value).result()
    for name in ("d", "ocdbt.process_0"):
        shutil.rmtree(path / name)
    for name in ("d", "manifest.ocdbt"):
        (new / name).rename(path / name)
    new.rmdir()


def save_run(path: Path) -> None:
    state = initial()
    with ocp.CheckpointManager(
        path.absolute(), options=ocp.CheckpointManagerOptions(max_to_keep=3)
    ) as manager:
        for step in (100, 200, 300):
            state = train_until(state, step)
            note = ocp.args.JsonSave({"tokens": step * 8})
            manager.save(step, args=ocp.args.Composite(state=ocp.args.StandardSave(state), metadata=note))


def main(out_dir: str) -> None:
    state = train_until(initial(), 100)
    spread = dict(
        state, params=dict(state["params"], hidden=jax.tree.map(over_devices, state["params"]["hidden"]))
    )
    whole = ["weights", "optimizer", "rng", "step"]
    for fixture, path, step, content, save in (
        ("orbax-ocdbt-zarr2", "step-100", 100, whole, lambda to: save_standard(to, state)),
        (
            "orbax-ocdbt-zarr3",
            "step-100",
            100,
            whole,
            lambda to: save_tree(to, spread, ocdbt=True, zarr3=True),
        ),
        ("orbax-zarr2", "step-100", 100, whole, lambda to: save_tree(to, state, ocdbt=False, zarr3=False)),
        ("orbax-zarr3", "step-100", 100, whole, lambda to: save_tree(to, spread, ocdbt=False, zarr3=True)),
        ("orbax-manager", "run", 300, whole, save_run),
        ("orbax-deep-tree", "step-100", 100, whole, lambda to: save_deep(to, state)),
        ("orbax-weights", "params", None, ["weights"], lambda to: save_standard(to, state["params"])),
    ):
        data = start_fixture(out_dir, fixture)
        # Elsewhere first: commit_success.txt names the folder it was written in.
        with tempfile.TemporaryDirectory() as scratch:
            save(Path(scratch) / path)
            shutil.move(Path(scratch) / path, data / path)
        write_fixture(
            data,
            load=load,
            maker="orbax_trees",
            path=path,
            format="orbax",
            step=step,
            content=content,
            # Values of up to 1 KiB lie inside OCDBT's nodes, which carry checksums; larger ones
            # have none.
            checksums="none" if fixture in ("orbax-zarr2", "orbax-zarr3") else "some",
            versions={name: version(name) for name in PACKAGES},
            **({"note": NOTES[fixture]} if fixture in NOTES else {}),
        )


if __name__ == "__main__":
    main(sys.argv[1])
