# family: tf
"""The writer of TensorFlow: tf.train.Checkpoint with weights, Adam's moments and the step."""

import sys
from pathlib import Path
from typing import Callable

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
from loaders.tensorflow_checkpoints import load, tf  # first: it silences and pins TensorFlow

import keras
import numpy as np
from writers.zygote import Writer, serve

WIDTH, DEPTH = 1024, 5
RNG = np.random.default_rng(7)
LAYERS = [RNG.normal(0, 0.3, (WIDTH, WIDTH)).astype(np.float32) for _ in range(DEPTH)]


class Network(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = [tf.Variable(layer, name=f"layer_{n}") for n, layer in enumerate(LAYERS)]


def checkpoint(folder: str) -> Callable[[], None]:
    network, optimizer = Network(), keras.optimizers.Adam(1e-3)
    optimizer.build(list(network.trainable_variables))
    for variable in optimizer.variables:
        if len(variable.shape) == 2:
            variable.assign(LAYERS[0])  # not the zeros that Adam begins with, which look like holes
    tracked = tf.train.Checkpoint(model=network, optimizer=optimizer, step=tf.Variable(100, dtype=tf.int64))
    return lambda: tracked.write(f"{folder}/ckpt-100")


if __name__ == "__main__":
    serve({"tensorflow": Writer(checkpoint, lambda folder: load(f"{folder}/ckpt-100.index"))})
