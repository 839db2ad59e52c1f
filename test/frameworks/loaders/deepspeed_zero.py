# family: torch
"""Loads a DeepSpeed run folder with load_checkpoint on as many ranks as wrote it: the tag that `latest` names."""

import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import torch
from common import loader_main
from loaders.ranks import run_ranks
from makers.zero_engine import engine

RANKS = 2
torch.set_num_threads(1)


def load(path: str) -> Any:
    stage = _stage(path)
    return run_ranks(RANKS, lambda: _load_on_this_rank(path, stage))


def _stage(path: str) -> int:
    """The stage decides the files' names: all model states per rank at 3, no optimizer files at 0."""
    names = [file.name for file in Path(path).glob("*/*")]
    if any(name.startswith("zero_pp_rank") and name.endswith("model_states.pt") for name in names):
        return 3
    if not any("optim_states" in name for name in names):
        return 0
    for file in Path(path).glob("*/*optim_states.pt"):
        try:
            return int(
                torch.load(file, map_location="cpu", weights_only=False)["optimizer_state_dict"]["zero_stage"]
            )
        except Exception:
            continue
    return 2


def _load_on_this_rank(path: str, stage: int) -> Any:
    loaded = engine(stage)
    tag, client_state = loaded.load_checkpoint(path)
    if tag is None:
        raise RuntimeError("load_checkpoint returned nothing")
    return {
        "step": loaded.global_steps,
        "client": {"rng": client_state["rng"]},
        "weights": loaded.module_state_dict(),
        "optimizer": _plain(loaded.optimizer.state_dict()),
        "scheduler": loaded.lr_scheduler.state_dict(),
    }


def _plain(value: Any) -> Any:
    """Dictionaries, lists and leaves that pickle without DeepSpeed's own classes."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str, torch.Tensor)):
        return value
    return repr(type(value))


if __name__ == "__main__":
    loader_main(load)
