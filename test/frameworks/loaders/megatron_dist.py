# family: torch
"""Loads the iteration that a Megatron run's tracker names with dist_checkpointing.load, on as many ranks as wrote it.

Each rank gives its own sharded state as the template, as Megatron does when it resumes.
"""

import sys
import warnings
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
warnings.filterwarnings("ignore")
import torch
from common import loader_main
from loaders.ranks import run_ranks
from makers.megatron_tiny import RANKS, MegatronTraining
from megatron.core import dist_checkpointing

torch.set_num_threads(1)


def load(path: str) -> Any:
    return run_ranks(RANKS, lambda: _load_on_this_rank(path))


def _load_on_this_rank(path: str) -> Any:
    iteration = int((Path(path) / "latest_checkpointed_iteration.txt").read_text().strip())
    template = MegatronTraining().run(1).sharded_state()
    return dist_checkpointing.load(template, str(Path(path) / f"iter_{iteration:07d}"))


if __name__ == "__main__":
    loader_main(load)
