# family: torch113
"""Loads a file with torch 1.13, either format, as its users did: its weights_only mode knows no float (opcode G)."""

import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import torch
from common import loader_main

torch.set_num_threads(1)


def load(path: str) -> Any:
    return torch.load(path, map_location="cpu")


if __name__ == "__main__":
    loader_main(load)
