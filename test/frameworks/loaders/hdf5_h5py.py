"""Loads an HDF5 file with h5py: every dataset and every attribute.

Family: jax.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import h5py

from common import loader_main


def load(path: str) -> dict[str, Any]:
    values: dict[str, Any] = {}

    def visit(name: str, item: h5py.Group | h5py.Dataset) -> None:
        values[f"{name}@"] = {key: _plain(value) for key, value in item.attrs.items()}
        if isinstance(item, h5py.Dataset):
            values[name] = _plain(item[()])

    with h5py.File(path, "r") as file:
        visit("/", file)
        file.visititems(visit)
    return values


def _plain(value: Any) -> Any:
    """Variable-length strings come as object arrays: their items are the values."""
    return value.tolist() if getattr(getattr(value, "dtype", None), "hasobject", False) else value


if __name__ == "__main__":
    loader_main(load)
