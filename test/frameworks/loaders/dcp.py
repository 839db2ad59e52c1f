# family: torch
"""Loads a distributed checkpoint in one process: dcp.load into tensors of the sizes that its metadata announces."""

import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import torch
import torch.distributed.checkpoint as dcp
from common import loader_main
from torch.distributed.checkpoint.metadata import TensorStorageMetadata

torch.set_num_threads(1)


def load(path: str) -> Any:
    reader = dcp.FileSystemReader(path)
    state: dict[str, Any] = {}
    for name, entry in reader.read_metadata().state_dict_metadata.items():
        if isinstance(entry, TensorStorageMetadata):
            state[name] = torch.empty(entry.size, dtype=entry.properties.dtype)
        else:
            state[name] = None
    dcp.load(state, storage_reader=reader)
    return state


if __name__ == "__main__":
    loader_main(load)
