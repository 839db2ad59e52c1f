# family: torch
"""Zip checkpoints of today's torch.save: a whole training state, weights alone, and one written without CRCs."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import torch
from common import start_fixture, write_fixture
from loaders.torch_zip import load
from makers.tiny import Training

EVERYTHING = ("weights", "optimizer", "scheduler", "rng", "step")


def main(out_dir: str) -> None:
    training = Training().run(100)
    common = dict(
        maker="torch_zip", format="torch-zip", versions={"torch": torch.__version__.split("+")[0]}, load=load
    )

    data = start_fixture(out_dir, "torch-zip-train")
    torch.save(training.state(), data / "step-100.pt")
    write_fixture(data, path="step-100.pt", step=100, content=EVERYTHING, checksums="all", **common)

    data = start_fixture(out_dir, "torch-zip-weights")
    torch.save(training.model.state_dict(), data / "model.pt")
    write_fixture(data, path="model.pt", step=None, content=("weights",), checksums="all", **common)

    data = start_fixture(out_dir, "torch-zip-nocrc")
    torch.serialization.set_crc32_options(False)
    try:
        torch.save(training.state(), data / "step-100.pt")
    finally:
        torch.serialization.set_crc32_options(True)
    write_fixture(data, path="step-100.pt", step=100, content=EVERYTHING, checksums="none", **common)


if __name__ == "__main__":
    main(sys.argv[1])
