# family: torch113
"""Checkpoints of torch 1.13, the version that Debian 12 ships and many saved runs were made with: zip and old pickle.

Its zip has no byteorder, .format_version, .storage_alignment or serialization id records.
"""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import torch
from common import start_fixture, write_fixture
from loaders.torch113 import load
from makers.tiny import Training


def main(out_dir: str) -> None:
    training = Training().run(100)
    common = dict(maker="torch113", load=load, versions={"torch": torch.__version__.split("+")[0]})
    everything = ("weights", "optimizer", "scheduler", "rng", "step")

    data = start_fixture(out_dir, "torch113-zip-train")
    torch.save(training.state(), data / "step-100.pt")
    write_fixture(
        data, path="step-100.pt", format="torch-zip", step=100, content=everything, checksums="all", **common
    )

    data = start_fixture(out_dir, "torch113-legacy-train")
    torch.save(training.state(), data / "step-100.pth", _use_new_zipfile_serialization=False)
    write_fixture(
        data,
        path="step-100.pth",
        format="torch-legacy",
        step=100,
        content=everything,
        checksums="none",
        **common
    )


if __name__ == "__main__":
    main(sys.argv[1])
