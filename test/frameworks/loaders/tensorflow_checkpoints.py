"""Loads a TensorFlow checkpoint with TensorFlow's reader: every tensor of it.

Given a folder, the checkpoint is the one tf.train.latest_checkpoint names; given an .index file, its own.
The reader is the one under tf.train.Checkpoint.restore: it opens the index and checks each tensor it
reads.

Family: tf.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import tensorflow as tf

from common import loader_main


def load(path: str) -> dict[str, Any]:
    prefix = tf.train.latest_checkpoint(path) if os.path.isdir(path) else path.removesuffix(".index")
    if prefix is None:
        raise FileNotFoundError(f"tf.train.latest_checkpoint finds nothing in {path}")
    reader = tf.train.load_checkpoint(prefix)
    return {name: _plain(reader.get_tensor(name)) for name in sorted(reader.get_variable_to_shape_map())}


def _plain(value: Any) -> Any:
    """String tensors come as bytes or as arrays of objects: their items are the values."""
    return value.tolist() if getattr(getattr(value, "dtype", None), "hasobject", False) else value


if __name__ == "__main__":
    loader_main(load)
