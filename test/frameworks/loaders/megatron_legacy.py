# family: torch
"""Loads every rank's file of the iteration that a Megatron run's tracker names, as each rank does at start-up.

How many ranks there must be is told by the arguments inside the first file.
"""

import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import torch
from common import loader_main

torch.set_num_threads(1)


def load(path: str) -> Any:
    iteration = int((Path(path) / "latest_checkpointed_iteration.txt").read_text().strip())
    folder = Path(path) / f"iter_{iteration:07d}"

    def of_rank(rank: int) -> Any:
        file = folder / f"mp_rank_{rank:02d}" / "model_optim_rng.pt"
        return torch.load(file, map_location="cpu", weights_only=False)

    first = of_rank(0)
    ranks = first["args"].tensor_model_parallel_size * first["args"].pipeline_model_parallel_size
    return [first, *(of_rank(rank) for rank in range(1, ranks))]


if __name__ == "__main__":
    loader_main(load)
