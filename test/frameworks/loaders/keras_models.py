"""Loads what Keras saved, with Keras: models with load_model, weights into the model they came from.

Given a folder, it is the backup folder of BackupAndRestore or an unzipped .keras model.

Family: jax.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "jax")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import json

import keras
import numpy as np

from common import loader_main


def build(compiled: bool) -> keras.Model:
    """The model of every Keras fixture."""
    keras.utils.set_random_seed(7)
    model = keras.Sequential(
        [
            keras.layers.Input((16,), name="inputs"),
            keras.layers.Dense(32, activation="relu", name="hidden"),
            keras.layers.BatchNormalization(name="norm"),
            keras.layers.Dense(4, name="head"),
        ],
        name="tiny",
    )
    if compiled:
        model.compile(keras.optimizers.Adam(1e-2, name="adam"), loss=keras.losses.MeanSquaredError())
    return model


def values_of(model: keras.Model) -> dict[str, Any]:
    optimizer = getattr(model, "optimizer", None)
    variables = [*model.variables, *(optimizer.variables if optimizer else [])]
    return {variable.path: np.asarray(variable.value) for variable in variables}


def load(path: str) -> Any:
    if os.path.isdir(path) and not os.path.exists(os.path.join(path, "config.json")):
        metadata = json.loads(Path(path, "training_metadata.json").read_text())
        return metadata, _with_weights(os.path.join(path, "latest.weights.h5"), compiled=True)
    if path.endswith((".weights.h5", ".weights.json")):
        return _with_weights(path, compiled=Path(path).name.startswith("step-"))
    return values_of(keras.saving.load_model(path))


def _with_weights(path: str, compiled: bool) -> dict[str, Any]:
    model = build(compiled)
    if compiled:
        model.optimizer.build(model.trainable_variables)
    model.load_weights(path)
    return values_of(model)


if __name__ == "__main__":
    loader_main(load)
