# family: torch
"""The pickle format from before torch 1.6, which today's torch still writes on request."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import torch
from common import start_fixture, write_fixture
from loaders.torch_legacy import load
from makers.tiny import Training


def main(out_dir: str) -> None:
    training = Training().run(100)
    common = dict(maker="torch_legacy", format="torch-legacy", checksums="none", load=load)
    versions = {"torch": torch.__version__.split("+")[0]}

    data = start_fixture(out_dir, "torch-legacy-train")
    torch.save(training.state(), data / "step-100.pth", _use_new_zipfile_serialization=False)
    content = ("weights", "optimizer", "scheduler", "rng", "step")
    write_fixture(data, path="step-100.pth", step=100, content=content, versions=versions, **common)

    data = start_fixture(out_dir, "torch-legacy-weights")
    torch.save(training.model.state_dict(), data / "model.pth", _use_new_zipfile_serialization=False)
    write_fixture(data, path="model.pth", step=None, content=("weights",), versions=versions, **common)


if __name__ == "__main__":
    main(sys.argv[1])
