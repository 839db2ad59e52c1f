# family: torch
"""Resumes a Lightning trainer from a checkpoint with fit(ckpt_path=...) and stops before its first batch.

A checkpoint without optimizer states cannot be resumed from; it is loaded as its users do, with load_from_checkpoint.
A sharded one is resumed by two ranks.
"""

import logging
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import lightning
import torch
import torch.distributed._tensor  # this and the next by every forked rank otherwise
import torch.distributed.checkpoint.state_dict
from common import loader_main
from loaders.ranks import run_ranks
from makers.lightning_tiny import RANKS, TinyModule, trainer

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
torch.set_num_threads(1)


class Resumed(Exception):
    """Raised out of fit() with everything that was loaded."""


class StopBeforeTheFirstBatch(lightning.Callback):
    def on_train_start(self, training: Any, module: Any) -> None:
        weights = {name: _whole(tensor) for name, tensor in module.state_dict().items()}
        optimizer = training.optimizers[0].state_dict()
        optimizer["state"] = {k: {n: _whole(v) for n, v in s.items()} for k, s in optimizer["state"].items()}
        schedulers = [entry.scheduler.state_dict() for entry in training.lr_scheduler_configs]
        loops = training.fit_loop.state_dict()
        raise Resumed([training.global_step, training.current_epoch, weights, optimizer, schedulers, loops])


def _whole(value: Any) -> Any:
    return value.full_tensor() if hasattr(value, "full_tensor") else value


def load(path: str) -> Any:
    if Path(path).is_dir():
        return run_ranks(RANKS, lambda: _resume(path, sharded=True))
    if "optimizer_states" not in torch.load(path, map_location="cpu", weights_only=False):
        return TinyModule.load_from_checkpoint(path, map_location="cpu").state_dict()
    return _resume(path, sharded=False)


def _resume(path: str, sharded: bool) -> Any:
    training = trainer(sharded, max_steps=1000, callbacks=[StopBeforeTheFirstBatch()])
    try:
        training.fit(TinyModule(sharded), ckpt_path=path, weights_only=False)
    except Resumed as resumed:
        return resumed.args[0]
    raise RuntimeError("the trainer finished without a batch")


if __name__ == "__main__":
    loader_main(load)
