# family: torch
"""transformers' Trainer: one checkpoint folder, weights alone (save_only_model), sharded weights, and a whole run."""

import contextlib
import functools
import shutil
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import torch
import transformers
from common import start_fixture, write_fixture
from loaders.hf_trainer import load
from makers.hf_tiny import Sequences, arguments, tiny_gpt2

EVERYTHING = ("weights", "optimizer", "scheduler", "rng", "step")


def train(data: Path, max_shard_size: str | None = None, **changes: object) -> None:
    """Trains below data/ with a relative output folder, which training_args.bin records."""
    model = tiny_gpt2()
    if max_shard_size:
        model.save_pretrained = functools.partial(model.save_pretrained, max_shard_size=max_shard_size)
    with contextlib.chdir(data):
        transformers.Trainer(model=model, args=arguments(**changes), train_dataset=Sequences()).train()


def main(out_dir: str) -> None:
    versions = {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0]}
    common = dict(maker="hf_trainer", format="hf-trainer", checksums="some", versions=versions, load=load)

    data = start_fixture(out_dir, "hf-trainer-run")
    train(data)
    note = "a run's folder with checkpoint-2, checkpoint-4 and checkpoint-6; each deserves the same"
    write_fixture(data, path="run", step=6, content=EVERYTHING, note=note, **common)

    whole = start_fixture(out_dir, "hf-trainer")
    shutil.copytree(data / "run" / "checkpoint-4", whole / "checkpoint-4")
    write_fixture(whole, path="checkpoint-4", step=4, content=EVERYTHING, **common)

    data = start_fixture(out_dir, "hf-trainer-weights")
    train(data, save_only_model=True, max_steps=4, save_steps=4)
    write_fixture(
        data, path="run/checkpoint-4", step=4, content=("weights", "step"), **{**common, "checksums": "none"}
    )

    data = start_fixture(out_dir, "hf-trainer-sharded")
    train(data, max_shard_size="2KB", max_steps=4, save_steps=4)
    write_fixture(data, path="run/checkpoint-4", step=4, content=EVERYTHING, **common)


if __name__ == "__main__":
    main(sys.argv[1])
