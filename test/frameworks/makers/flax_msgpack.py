"""Makes Flax msgpack fixtures: a TrainState saved by flax.training.checkpoints, and parameters alone.

The checkpoint is the single file checkpoint_100 that Flax writes when Orbax is switched off; the
parameters are the bytes of flax.serialization.to_bytes, as published models have them.

Family: jax.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from loaders.flax_msgpack import checkpoints, load  # first: it chooses the platform

import flax
import jax
import jax.numpy as jnp
import optax
from flax import linen
from flax.training.train_state import TrainState

from common import start_fixture, write_fixture

PACKAGES = ("flax", "jax", "optax", "msgpack", "numpy")


class Network(linen.Module):
    @linen.compact
    def __call__(self, inputs: jax.Array) -> jax.Array:
        hidden = linen.relu(linen.Dense(24, name="hidden")(inputs))
        return linen.Dense(4, name="head", param_dtype=jnp.bfloat16)(hidden)


@jax.jit
def advance(state: TrainState, key: jax.Array) -> TrainState:
    inputs = jax.random.normal(key, (8, 16))

    def loss(params: Any) -> jax.Array:
        return jnp.mean((state.apply_fn({"params": params}, inputs) - inputs[:, :4]) ** 2)

    return state.apply_gradients(grads=jax.grad(loss)(state.params))


def train(steps: int) -> TrainState:
    key = jax.random.PRNGKey(7)
    network = Network()
    params = network.init(key, jnp.zeros((1, 16)))["params"]
    state = TrainState.create(apply_fn=network.apply, params=params, tx=optax.adam(1e-2))
    for step in range(steps):
        state = advance(state, jax.random.fold_in(key, step))
    return state


def main(out_dir: str) -> None:
    flax.config.update("flax_use_orbax_checkpointing", False)
    state = train(100)
    facts = dict(load=load, maker="flax_msgpack", format="flax-msgpack", checksums="none")
    facts["versions"] = {name: version(name) for name in PACKAGES}
    data = start_fixture(out_dir, "flax-msgpack-train")
    checkpoints.save_checkpoint(str(data.absolute()), state, step=100)
    write_fixture(data, path="checkpoint_100", step=100, content=["weights", "optimizer", "step"], **facts)
    data = start_fixture(out_dir, "flax-msgpack-params")
    (data / "flax_model.msgpack").write_bytes(flax.serialization.to_bytes(state.params))
    write_fixture(data, path="flax_model.msgpack", step=None, content=["weights"], **facts)


if __name__ == "__main__":
    main(sys.argv[1])
