# family: torch
"""Loads a safetensors file, or a folder with an index: every file that the index names, as from_pretrained does."""

import json
import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import torch
from common import loader_main
from safetensors.torch import load_file

torch.set_num_threads(1)


def load(path: str) -> Any:
    if not Path(path).is_dir():
        return load_file(path)
    index = json.loads((Path(path) / "model.safetensors.index.json").read_text())
    tensors: dict[str, torch.Tensor] = {}
    for file in sorted(set(index["weight_map"].values())):
        tensors.update(load_file(Path(path) / file))
    missing = index["weight_map"].keys() - tensors.keys()
    if missing:
        raise KeyError(f"named in the index, in no file: {sorted(missing)}")
    return tensors


if __name__ == "__main__":
    loader_main(load)
