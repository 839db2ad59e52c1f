"""Loads .npy and .npz with numpy.load, every array of it.

Family: jax.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from common import loader_main


def load(path: str) -> Any:
    loaded = np.load(path)
    if isinstance(loaded, np.ndarray):
        return loaded
    with loaded:
        return {name: loaded[name] for name in loaded.files}


if __name__ == "__main__":
    loader_main(load)
