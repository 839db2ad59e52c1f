"""Makes TensorFlow fixtures with tf.train.Checkpoint, CheckpointManager and the older Saver.

A tiny network after real steps with Adam, its step, a generator's state, and a vector of strings:
tf-checkpoint          one checkpoint with a Keras optimizer
tf-slots               one checkpoint with the older optimizer, whose moments are slots of the variables
tf-manager             a run's folder with three steps, written by CheckpointManager
tf-sharded             one checkpoint in several data files, split by size
tf-saver-sharded       the version 1 Saver with variables on two devices, one data file each
tf-weights             the variables alone

Family: tf.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from loaders.tensorflow_checkpoints import load, tf  # first: it silences and pins TensorFlow

import keras
import numpy as np

from common import EXTRA_STEPS, start_fixture, write_fixture

VERSIONS = {"tensorflow": tf.__version__, "keras": keras.__version__, "numpy": np.__version__}
WHOLE = ["weights", "optimizer", "rng", "step"]


class Network(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        rng = np.random.default_rng(7)
        self.hidden = tf.Variable(rng.normal(0, 0.3, (16, 24)).astype(np.float32), name="hidden")
        self.bias = tf.Variable(tf.zeros(24), name="bias")
        self.head = tf.Variable(rng.normal(0, 0.3, (24, 4)).astype(np.float32), name="head")
        self.classes = tf.Variable(["cat", "dog", "", "a longer name"], trainable=False, name="classes")

    def __call__(self, inputs: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(inputs @ self.hidden + self.bias) @ self.head


class Training:
    """A run that can train on and be saved again and again."""

    def __init__(self, optimizer: Any) -> None:
        self.network, self.optimizer = Network(), optimizer
        self.step = tf.Variable(0, dtype=tf.int64)
        self.generator = tf.random.Generator.from_seed(7)
        self.tracked = dict(model=self.network, optimizer=optimizer, step=self.step, generator=self.generator)

    def train_until(self, step: int) -> None:
        variables = list(self.network.trainable_variables)
        while int(self.step) < step:
            inputs = self.generator.normal((8, 16))
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self.network(inputs) - inputs[:, :4]))
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
            self.step.assign_add(1)


def save_one(data: Path, optimizer: Any, options: tf.train.CheckpointOptions | None = None) -> str:
    training = Training(optimizer)
    training.train_until(100 + EXTRA_STEPS)
    tf.train.Checkpoint(**training.tracked).write(str(data / "ckpt-100"), options=options)
    return "ckpt-100.index"


def save_run(data: Path) -> str:
    training = Training(keras.optimizers.Adam(1e-2))
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(**training.tracked), str(data / "run"), max_to_keep=3
    )
    for step in (100, 200, 300):
        training.train_until(step)
        manager.save(checkpoint_number=step)
    return "run"


def save_with_saver(data: Path) -> str:
    """The graph and session of version 1, where each device of a job writes its own shard."""
    v1 = tf.compat.v1
    config = v1.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), v1.Session(config=config) as session:
        v1.set_random_seed(7)
        with tf.device("/cpu:0"):
            step = v1.train.get_or_create_global_step()
            hidden = v1.get_variable("hidden", (16, 24), use_resource=True)
        with tf.device("/cpu:1"):
            head = v1.get_variable("head", (24, 4), use_resource=True)
        inputs = v1.random_normal((8, 16), seed=7)
        loss = tf.reduce_mean(tf.square(tf.nn.relu(inputs @ hidden) @ head - inputs[:, :4]))
        train = v1.train.AdamOptimizer(1e-2).minimize(loss, global_step=step)
        session.run(v1.global_variables_initializer())
        for _ in range(100):
            session.run(train)
        saver = v1.train.Saver(sharded=True, save_relative_paths=True)
        saver.save(session, str(data / "model.ckpt"), global_step=step, write_meta_graph=False)
    return "model.ckpt-100.index"


def save_weights(data: Path) -> str:
    tf.train.Checkpoint(model=Network()).write(str(data / "weights"))
    return "weights.index"


def main(out_dir: str) -> None:
    policy = tf.train.experimental.MaxShardSizePolicy(max_shard_size=2048)
    by_size = tf.train.CheckpointOptions(experimental_sharding_callback=policy)
    for fixture, save, step, content in (
        ("tf-checkpoint", lambda data: save_one(data, keras.optimizers.Adam(1e-2)), 100, WHOLE),
        ("tf-slots", lambda data: save_one(data, tf.compat.v1.train.AdamOptimizer(1e-2)), 100, WHOLE),
        ("tf-manager", save_run, 300, WHOLE),
        ("tf-sharded", lambda data: save_one(data, keras.optimizers.Adam(1e-2), by_size), 100, WHOLE),
        ("tf-saver-sharded", save_with_saver, 100, ["weights", "optimizer", "step"]),
        ("tf-weights", save_weights, None, ["weights"]),
    ):
        data = start_fixture(out_dir, fixture)
        path = save(data)
        write_fixture(
            data,
            load=load,
            maker="tensorflow_checkpoints",
            path=path,
            format="tensorflow",
            step=step,
            content=content,
            checksums="all",
            versions=VERSIONS,
            **({"note": "a run's folder with steps 100, 200 and 300"} if path == "run" else {}),
        )


if __name__ == "__main__":
    main(sys.argv[1])
