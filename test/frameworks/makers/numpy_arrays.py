"""Makes npy and npz fixtures with numpy.save, numpy.savez and numpy.savez_compressed.

The npz files hold a whole training state (parameters, Adam's moments, step, generator state); the npy one
array.

Family: jax.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from common import start_fixture, write_fixture
from loaders.numpy_arrays import load
from tiny_training import train

VERSIONS = {"numpy": np.__version__}


def main(out_dir: str) -> None:
    state = train(100)
    flat = {f"params/{name}": value for name, value in state["params"].items()}
    flat |= {f"opt/m/{name}": value for name, value in state["m"].items()}
    flat |= {f"opt/v/{name}": value for name, value in state["v"].items()}
    flat |= {"step": np.int64(state["step"]), "rng": state["rng"]}
    for fixture, save in (("npz-stored", np.savez), ("npz-compressed", np.savez_compressed)):
        data = start_fixture(out_dir, fixture)
        save(data / "step-100.npz", **flat)
        write_fixture(
            data,
            load=load,
            maker="numpy_arrays",
            path="step-100.npz",
            format="npz",
            step=100,
            content=["weights", "optimizer", "rng", "step"],
            checksums="all",
            versions=VERSIONS,
        )
    data = start_fixture(out_dir, "npz-weights")
    np.savez(data / "weights.npz", **state["params"])
    facts = dict(load=load, maker="numpy_arrays", step=None, content=["weights"], versions=VERSIONS)
    write_fixture(data, path="weights.npz", format="npz", checksums="all", **facts)
    data = start_fixture(out_dir, "npy-weights")
    np.save(data / "kernel.npy", state["params"]["dense_0/kernel"])
    write_fixture(data, path="kernel.npy", format="npy", checksums="none", **facts)
    data = start_fixture(out_dir, "npy-fortran")
    np.save(data / "kernel.npy", np.asfortranarray(state["params"]["dense_1/kernel"].astype(np.float16)))
    write_fixture(data, path="kernel.npy", format="npy", checksums="none", **facts)


if __name__ == "__main__":
    main(sys.argv[1])
