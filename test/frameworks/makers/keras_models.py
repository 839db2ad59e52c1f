"""Makes Keras fixtures on the JAX backend: whole models, weights, and a training backup.

Whole models: a .keras file after 100 real steps with Adam, one that was never compiled, and the legacy
.h5 file. Weights: .weights.h5 of a compiled model, which holds the optimizer too, of an uncompiled one,
which does not, and .weights.json with its shards. Backup: the folder that the BackupAndRestore callback
leaves when training stops in the middle.

Family: jax.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from loaders.keras_models import build, load  # first: it chooses the backend

import h5py
import jax
import keras
import numpy as np

from common import EXTRA_STEPS, start_fixture, write_fixture

VERSIONS = {"keras": keras.__version__, "h5py": h5py.__version__, "jax": jax.__version__}
STEPS_PER_EPOCH = 25
SAVE = {
    "save": lambda model, path: model.save(path),
    "weights": lambda model, path: model.save_weights(path),
    "shards": lambda model, path: model.save_weights(path, max_shard_size=5e-6),  # in gigabytes
}


class Stop(Exception):
    """Ends training where a reclaimed machine would."""


def train(model: keras.Model, steps: int, callbacks: list[keras.callbacks.Callback]) -> None:
    rng = np.random.default_rng(7)
    inputs = rng.normal(0, 1, (STEPS_PER_EPOCH * 8, 16)).astype(np.float32)
    target = (inputs @ rng.normal(0, 1, (16, 4))).astype(np.float32)
    epochs = steps // STEPS_PER_EPOCH
    model.fit(inputs, target, batch_size=8, epochs=epochs, shuffle=False, verbose=0, callbacks=callbacks)


def interrupted(backup_dir: Path) -> None:
    def stop(epoch: int, logs: object) -> None:
        if epoch == 2:
            raise Stop

    backup = keras.callbacks.BackupAndRestore(
        str(backup_dir), double_checkpoint=True, delete_checkpoint=False
    )
    try:
        train(build(compiled=True), 100, [backup, keras.callbacks.LambdaCallback(on_epoch_end=stop)])
    except Stop:
        pass


def main(out_dir: str) -> None:
    whole = ["weights", "optimizer", "step"]
    trained = build(compiled=True)
    train(trained, 100 + EXTRA_STEPS, [])
    bare = build(compiled=False)
    bare.set_weights(trained.get_weights())
    for fixture, model, way, path, form, step, content, checksums in (
        ("keras-train", trained, "save", "step-100.keras", "keras", 100, whole, "all"),
        ("keras-uncompiled", bare, "save", "model.keras", "keras", None, ["weights"], "all"),
        ("keras-legacy-h5", trained, "save", "step-100.h5", "hdf5", 100, whole, "none"),
        ("keras-weights-h5", trained, "weights", "step-100.weights.h5", "hdf5", 100, whole, "none"),
        ("keras-weights-only-h5", bare, "weights", "model.weights.h5", "hdf5", None, ["weights"], "none"),
        ("keras-sharded-weights", trained, "shards", "step-100.weights.json", "keras-sharded", 100, whole, "none"),
        ("keras-backup", None, None, "backup", "keras-backup", 75, whole, "none"),
    ):
        data = start_fixture(out_dir, fixture)
        if model is None:
            interrupted(data / path)
        else:
            SAVE[way](model, data / path)
        write_fixture(
            data,
            load=load,
            maker="keras_models",
            path=path,
            format=form,
            step=step,
            content=content,
            checksums=checksums,
            versions=VERSIONS,
        )


if __name__ == "__main__":
    main(sys.argv[1])
