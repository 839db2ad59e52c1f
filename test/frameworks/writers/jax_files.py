# family: jax
"""Writers of the JAX and numpy world: Orbax, Keras, h5py, npz, Flax msgpack, GGUF.

JAX must not be used before a fork, so each save makes its arrays in the child.
"""

import os
import sys
from pathlib import Path
from typing import Any, Callable

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("KERAS_BACKEND", "jax")
sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import flax
import gguf
import h5py
import jax
import jax.numpy as jnp
import keras
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax.training import checkpoints
from loaders.flax_msgpack import load as load_flax
from loaders.gguf_models import load as load_gguf
from loaders.hdf5_h5py import load as load_hdf5
from loaders.keras_models import values_of
from loaders.numpy_arrays import load as load_numpy
from loaders.orbax_trees import load as load_orbax
from writers.zygote import Writer, serve

RNG = np.random.default_rng(7)
WIDTH, DEPTH = 1024, 5
PARAMS = {f"layer_{n}": RNG.normal(0, 0.3, (WIDTH, WIDTH)).astype(np.float32) for n in range(DEPTH)}
FLAT = {f"{group}/{name}": value for group in ("params", "opt/m", "opt/v") for name, value in PARAMS.items()}


def train_state() -> dict[str, Any]:
    params = jax.tree.map(jnp.asarray, PARAMS)
    adam = optax.adam(1e-3)
    _, moments = adam.update(params, adam.init(params))
    return {"params": params, "opt_state": moments, "step": 100, "rng": jax.random.PRNGKey(7)}


def orbax(folder: str) -> Callable[[], None]:
    state = jax.block_until_ready(train_state())
    checkpointer = ocp.StandardCheckpointer()

    def save() -> None:
        checkpointer.save(f"{folder}/step-100", state)
        checkpointer.wait_until_finished()

    return save


def flax_msgpack(folder: str) -> Callable[[], None]:
    flax.config.update("flax_use_orbax_checkpointing", False)
    state = jax.block_until_ready(train_state())
    return lambda: checkpoints.save_checkpoint(folder, state, step=100)


def flax_bytes(folder: str) -> Callable[[], None]:
    """As models are published: the parameters, written with an ordinary open()."""
    params = jax.block_until_ready(jax.tree.map(jnp.asarray, PARAMS))

    def save() -> None:
        with open(f"{folder}/flax_model.msgpack", "wb") as file:
            file.write(flax.serialization.to_bytes(params))

    return save


def big_keras() -> keras.Model:
    keras.utils.set_random_seed(7)
    layers = [keras.layers.Dense(WIDTH, name=f"layer_{n}") for n in range(DEPTH)]
    model = keras.Sequential([keras.layers.Input((WIDTH,), name="inputs"), *layers], name="big")
    model.compile(keras.optimizers.Adam(1e-3, name="adam"), loss="mse")
    model.optimizer.build(model.trainable_variables)
    for variable in model.optimizer.variables:
        if len(variable.shape) == 2:
            variable.assign(PARAMS["layer_0"])  # not the zeros that Adam begins with, which look like holes
    return model


def keras_model(folder: str) -> Callable[[], None]:
    model = big_keras()
    return lambda: model.save(f"{folder}/model.keras")


def load_keras(folder: str) -> Any:
    return values_of(keras.saving.load_model(f"{folder}/model.keras"))


def keras_weights(folder: str) -> Callable[[], None]:
    model = big_keras()
    return lambda: model.save_weights(f"{folder}/model.weights.h5")


def load_keras_weights(folder: str) -> Any:
    model = big_keras()
    model.load_weights(f"{folder}/model.weights.h5")
    return values_of(model)


def hdf5(folder: str, **options: Any) -> Callable[[], None]:
    def save() -> None:
        with h5py.File(f"{folder}/step-100.h5", "w", **options) as file:
            for name, value in FLAT.items():
                file[name] = value
            file["step"] = np.int64(100)

    return save


def load_h5(folder: str) -> Any:
    return load_hdf5(f"{folder}/step-100.h5")


def npz(folder: str) -> Callable[[], None]:
    return lambda: np.savez(f"{folder}/step-100.npz", step=np.int64(100), **FLAT)


def gguf_model(folder: str) -> Callable[[], None]:
    def save() -> None:
        writer = gguf.GGUFWriter(f"{folder}/model.gguf", "llama")
        for name, value in FLAT.items():
            writer.add_tensor(name.replace("/", "."), value)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    return save


if __name__ == "__main__":
    serve(
        {
            "orbax": Writer(orbax, lambda folder: load_orbax(f"{folder}/step-100")),
            "keras": Writer(keras_model, load_keras),
            "keras-weights-h5": Writer(keras_weights, load_keras_weights),
            "hdf5": Writer(hdf5, load_h5),
            "hdf5-latest": Writer(lambda folder: hdf5(folder, libver="latest"), load_h5),
            "npz": Writer(npz, lambda folder: load_numpy(f"{folder}/step-100.npz")),
            "flax-msgpack": Writer(flax_msgpack, lambda folder: load_flax(f"{folder}/checkpoint_100")),
            "flax-bytes": Writer(flax_bytes, lambda folder: load_flax(f"{folder}/flax_model.msgpack")),
            "gguf": Writer(gguf_model, lambda folder: load_gguf(f"{folder}/model.gguf")),
        }
    )
