"""Makes HDF5 fixtures with h5py, as a hand-written trainer does.

One state, laid out in the ways that differ on disk: contiguous datasets without checksums; chunks with
deflate and fletcher32 under the old superblock and B-trees; the newest superblock with each of its chunk
indexes (single chunk, fixed array, extensible array, B-tree of version 2), as HDF5 2.0 and as HDF5 1.14
lay it out; a file in which only the parameters are checksummed.

Family: jax.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import h5py
import numpy as np

from common import start_fixture, write_fixture
from loaders.hdf5_h5py import load
from tiny_training import train

STEPS = 300
PLANNED_STEPS = 1100
VERSIONS = {"h5py": h5py.__version__, "hdf5": h5py.version.hdf5_version, "numpy": np.__version__}


def contiguous(file: h5py.File, state: dict[str, Any]) -> None:
    for name, value in tensors(state):
        file[name] = value
    file["step"] = np.int64(state["step"])
    file["rng"] = state["rng"]


def chunked(file: h5py.File, state: dict[str, Any]) -> None:
    for name, value in tensors(state):
        chunks = tuple(max(1, size // 2) for size in value.shape)
        options = {"compression": "gzip", "shuffle": True} if value.ndim == 2 else {}
        file.create_dataset(name, data=value, chunks=chunks, fletcher32=True, **options)
    file.create_dataset("rng", data=state["rng"], chunks=True, fletcher32=True)
    # Enough chunks for a B-tree with a second level, in a dataset that could grow on.
    file.create_dataset("losses", data=state["losses"], chunks=(1,), maxshape=(None,), fletcher32=True)
    file.attrs["step"] = state["step"]


def every_index(file: h5py.File, state: dict[str, Any]) -> None:
    """Which index the library picks follows from the limits of the shape and the number of chunks."""
    for name, value in tensors(state):
        half = tuple(max(1, size // 2) for size in value.shape)
        layout = {
            "params": {"chunks": half},  # fixed array
            "m": {"chunks": value.shape},  # single chunk
            "v": {"chunks": half, "maxshape": (None, *value.shape[1:])},  # extensible array
        }[name.split("/")[0 if name.startswith("params") else 1]]
        if name == "opt/v/dense_0/kernel":
            # B-tree of version 2, with a second level
            layout = {"chunks": (2, 4), "maxshape": (None, None), "compression": "gzip"}
        file.create_dataset(name, data=value, fletcher32=True, **layout)
    file.create_dataset("rng", data=state["rng"], chunks=(4,), fletcher32=True)
    # Data blocks and super blocks of an extensible array; pages of a fixed array.
    file.create_dataset("losses", data=state["losses"], chunks=(1,), maxshape=(None,), fletcher32=True)
    rates = np.linspace(0.01, 0, PLANNED_STEPS, dtype=np.float32)
    file.create_dataset("planned_rates", data=rates, chunks=(1,), fletcher32=True)
    file.attrs["step"] = state["step"]


def partly_checked(file: h5py.File, state: dict[str, Any]) -> None:
    for name, value in tensors(state):
        options = {"chunks": value.shape, "fletcher32": True} if name.startswith("params/") else {}
        file.create_dataset(name, data=value, **options)
    file["step"] = np.int64(state["step"])


def tensors(state: dict[str, Any]) -> list[tuple[str, np.ndarray]]:
    return [
        (f"{prefix}/{name}", value)
        for prefix, group in (("params", "params"), ("opt/m", "m"), ("opt/v", "v"))
        for name, value in state[group].items()
    ]


def main(out_dir: str) -> None:
    state = train(STEPS)
    for fixture, write, checksums, options in (
        ("hdf5-contiguous", contiguous, "none", {}),
        ("hdf5-fletcher32", chunked, "all", {}),
        ("hdf5-latest-fletcher32", every_index, "all", {"libver": "latest"}),
        ("hdf5-v114-fletcher32", every_index, "all", {"libver": ("v114", "v114")}),
        ("hdf5-partly-fletcher32", partly_checked, "some", {}),
    ):
        data = start_fixture(out_dir, fixture)
        with h5py.File(data / f"step-{STEPS}.h5", "w", **options) as file:
            write(file, state)
        write_fixture(
            data,
            load=load,
            maker="hdf5_h5py",
            path=f"step-{STEPS}.h5",
            format="hdf5",
            step=STEPS,
            content=["weights", "optimizer", "step"] + (["rng"] if write is not partly_checked else []),
            checksums=checksums,
            versions=VERSIONS,
        )


if __name__ == "__main__":
    main(sys.argv[1])
