# family: torch
"""Loads a file of the old pickle format: torch.load recognises it by its first bytes."""

import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import torch
from common import loader_main

torch.set_num_threads(1)


def load(path: str) -> Any:
    return torch.load(path, map_location="cpu", weights_only=True)


if __name__ == "__main__":
    loader_main(load)
