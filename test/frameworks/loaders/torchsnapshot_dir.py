# family: torch
"""Loads a TorchSnapshot folder: read_object for every leaf that its manifest names, of all ranks."""

import sys
import warnings
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
warnings.filterwarnings("ignore")
import torch
import torchsnapshot
from common import loader_main
from torchsnapshot.manifest import is_container_entry

torch.set_num_threads(1)


def load(path: str) -> Any:
    snapshot = torchsnapshot.Snapshot(path)
    manifest = snapshot.get_manifest()
    return {
        name: snapshot.read_object(name) for name, entry in manifest.items() if not is_container_entry(entry)
    }


if __name__ == "__main__":
    loader_main(load)
