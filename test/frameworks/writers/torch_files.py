# family: torch
"""Writers of torch that need one process: torch.save in both formats, safetensors, DCP, TorchSnapshot."""

import sys
import warnings
from pathlib import Path
from typing import Any, Callable

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
warnings.filterwarnings("ignore")
import torch
import torch.distributed.checkpoint as dcp
import torchsnapshot
from loaders.dcp import load as load_dcp
from loaders.torch_zip import load as load_torch
from loaders.torchsnapshot_dir import load as load_torchsnapshot
from safetensors.torch import load_file, save_file
from writers.big import BigTraining
from writers.zygote import Writer, serve

TRAINING = BigTraining()
WEIGHTS = {**TRAINING.model.state_dict(), "more": torch.randn(2048, 4096)}


def torch_zip(folder: str) -> Callable[[], None]:
    return lambda: torch.save(TRAINING.state(), f"{folder}/step-100.pt")


def torch_legacy(folder: str) -> Callable[[], None]:
    return lambda: torch.save(TRAINING.state(), f"{folder}/step-100.pt", _use_new_zipfile_serialization=False)


def safetensors(folder: str) -> Callable[[], None]:
    return lambda: save_file(WEIGHTS, f"{folder}/model.safetensors", metadata={"format": "pt"})


def dcp_single(folder: str) -> Callable[[], None]:
    return lambda: dcp.save(TRAINING.state(), checkpoint_id=f"{folder}/step-100")


def snapshot(folder: str) -> Callable[[], None]:
    state = {
        "model": TRAINING.model,
        "optimizer": TRAINING.optimizer,
        "scheduler": TRAINING.scheduler,
        "progress": torchsnapshot.StateDict(step=TRAINING.step),
        "rng": torchsnapshot.RNGState(),
    }
    return lambda: torchsnapshot.Snapshot.take(f"{folder}/step-100", state)


def from_file(folder: str) -> Any:
    return load_torch(f"{folder}/step-100.pt")


if __name__ == "__main__":
    serve(
        {
            "torch-zip": Writer(torch_zip, from_file),
            "torch-legacy": Writer(torch_legacy, from_file),
            "safetensors": Writer(safetensors, lambda folder: load_file(f"{folder}/model.safetensors")),
            "dcp": Writer(dcp_single, lambda folder: load_dcp(f"{folder}/step-100")),
            "torchsnapshot": Writer(snapshot, lambda folder: load_torchsnapshot(f"{folder}/step-100")),
        }
    )
