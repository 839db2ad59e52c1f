"""A trainer that saves when it is told to: `python save.py BYTES FILES` holds that many bytes of float32 tensors and
answers each line `HOW FOLDER` on standard input with the name of each file when it is complete, and with an empty line
once the save returned.

HOW is a framework, or one with `+fsync`: then every file and the folder are synced before the answer.
"""

import json
import os
import sys
from pathlib import Path
from typing import Callable

import torch
import torch.distributed.checkpoint as dcp
from safetensors.torch import save_file

TENSORS_PER_FILE = 8
total, files = int(sys.argv[1]), int(sys.argv[2])
elements = total // files // TENSORS_PER_FILE // 4
torch.manual_seed(1)
parts = [{f"layer{file}.{i}": torch.rand(elements) for i in range(TENSORS_PER_FILE)} for file in range(files)]


def complete(file: Path) -> None:
    print(file.name, flush=True)


def with_safetensors(folder: Path) -> None:
    weight_map = {}
    for index, part in enumerate(parts):
        file = folder / f"model-{index + 1:05}-of-{files:05}.safetensors"
        save_file(part, file)
        weight_map |= {name: file.name for name in part}
        complete(file)
    index_file = folder / "model.safetensors.index.json"
    index_file.write_text(json.dumps({"metadata": {"total_size": total}, "weight_map": weight_map}))
    complete(index_file)


def with_torch(has_crc: bool) -> Callable[[Path], None]:
    def save(folder: Path) -> None:
        torch.serialization.set_crc32_options(has_crc)
        for index, part in enumerate(parts):
            file = folder / f"rank-{index}.pt"
            torch.save(part, file)
            complete(file)

    return save


def with_dcp(folder: Path) -> None:
    dcp.save({name: tensor for part in parts for name, tensor in part.items()}, checkpoint_id=folder, no_dist=True)


def raw(folder: Path) -> None:
    """The same bytes by write(2) alone."""
    for index, part in enumerate(parts):
        with open(folder / f"raw-{index}", "wb", buffering=0) as file:
            for tensor in part.values():
                left = memoryview(tensor.numpy()).cast("B")
                while left:
                    left = left[file.write(left) :]


WAYS = {
    "safetensors": with_safetensors,
    "torch": with_torch(True),
    "torch-no-crc": with_torch(False),
    "dcp": with_dcp,
    "raw": raw,
}


def sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


print(flush=True)
for line in sys.stdin:
    how, folder = line.rstrip("\n").split(" ", 1)
    WAYS[how.removesuffix("+fsync")](Path(folder))
    if how.endswith("+fsync"):
        for path in sorted(Path(folder).iterdir()):
            sync(path)
        sync(Path(folder))
    print(flush=True)
