# family: composer
"""Composer: a run's folder with two checkpoints, ep0-ba2-rank0.pt and ep0-ba4-rank0.pt, and the link to the latest."""

import contextlib
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import composer
import torch
from common import start_fixture, write_fixture
from loaders.composer_ckpt import load
from makers.composer_tiny import trainer


def main(out_dir: str) -> None:
    versions = {"mosaicml": composer.__version__, "torch": torch.__version__.split("+")[0]}
    common = dict(maker="composer_ckpt", path="run", format="composer", step=4, checksums="all", load=load)
    common["versions"] = versions

    data = start_fixture(out_dir, "composer")
    with contextlib.chdir(data):
        trainer(4, save_folder="run", save_interval="2ba").fit()
    write_fixture(data, content=("weights", "optimizer", "scheduler", "rng", "step"), **common)

    data = start_fixture(out_dir, "composer-weights")
    with contextlib.chdir(data):
        trainer(4, save_folder="run", save_interval="4ba", save_weights_only=True).fit()
    write_fixture(data, content=("weights",), **{**common, "step": None})


if __name__ == "__main__":
    main(sys.argv[1])
