# family: torch
"""Writers of torch whose save takes two ranks: DCP of FSDP2 shards, Megatron's torch_dist, DeepSpeed ZeRO."""

import multiprocessing
import os
import sys
import warnings
from multiprocessing.managers import SyncManager
from pathlib import Path
from typing import Any, Callable

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
warnings.filterwarnings("ignore")
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from loaders.dcp import load as load_dcp
from loaders.ranks import run_ranks
from makers.megatron_tiny import MegatronTraining
from makers.zero_engine import engine
from megatron.core import dist_checkpointing
from megatron.core.dist_checkpointing.strategies import filesystem_async
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.fsdp import fully_shard
from writers.big import BigModel
from writers.zygote import Writer, serve

RANKS = 2
MEGATRON_SIZES = dict(vocabulary=8192, hidden=512)
torch.set_num_threads(1)

# Where the writers of Megatron leave their results. Each rank would start a helper of its own,
# which loads torch when it gets the first: that takes longer than all the rest of a save. One
# serves all saves, and gives each a queue of its own.
helper: SyncManager | None = None


def start_helper() -> None:
    global helper
    helper = multiprocessing.get_context("spawn").Manager()


def dcp_ranks(folder: str) -> Callable[[], None]:
    dist.init_process_group("gloo")
    torch.manual_seed(7)
    model = BigModel()
    for layer in (*model.layers, model):
        fully_shard(layer)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model(torch.randn(2, 1024)).square().mean().backward()
    optimizer.step()
    weights, moments = get_state_dict(model, optimizer)
    rng = {f"rng_{dist.get_rank()}": torch.get_rng_state()}
    state = {"model": weights, "optimizer": moments, "step": 100, **rng}
    dist.barrier()
    return lambda: dcp.save(state, checkpoint_id=f"{folder}/step-100")


def megatron(folder: str) -> Callable[[], None]:
    """As Megatron's training loop: the folder of the iteration, and when every rank is done the tracker."""
    torch.cuda.synchronize = lambda *_: None
    torch.cuda.current_device = lambda: "cpu"
    state = MegatronTraining(**MEGATRON_SIZES).run(1).sharded_state()
    target = Path(folder) / "iter_0000100"
    target.mkdir(parents=True, exist_ok=True)
    filesystem_async._results_queue = helper.Queue()
    dist.barrier()

    def save() -> None:
        dist_checkpointing.save(state, str(target), ("torch_dist", 1))
        dist.barrier()
        if dist.get_rank() == 0:
            (target.parent / "latest_checkpointed_iteration.txt").write_text("100")

    return save


def load_megatron(folder: str) -> Any:
    def on_rank() -> Any:
        template = MegatronTraining(**MEGATRON_SIZES).run(1).sharded_state()
        return dist_checkpointing.load(template, f"{folder}/iter_0000100")

    return run_ranks(RANKS, on_rank)


def deepspeed(folder: str) -> Callable[[], None]:
    trained = engine(2, BigModel(depth=3))
    trained.backward(trained(torch.randn(4, 1024)).square().mean())
    trained.step()
    dist.barrier()
    return lambda: trained.save_checkpoint(folder)


def load_deepspeed(folder: str) -> Any:
    def on_rank() -> Any:
        loaded = engine(2, BigModel(depth=3))
        # By its name: one that was killed between the last byte and the pointer to it is whole, and
        # no more than forgotten.
        (tag,) = [name for name in os.listdir(folder) if name.startswith("global_step")]
        if loaded.load_checkpoint(folder, tag=tag)[0] is None:
            raise RuntimeError("load_checkpoint returned nothing")
        moments = loaded.optimizer.optimizer.state_dict()["state"]
        return [loaded.global_steps, loaded.module_state_dict(), moments]

    return run_ranks(RANKS, on_rank)


if __name__ == "__main__":
    serve(
        {
            "dcp-2-ranks": Writer(dcp_ranks, lambda folder: load_dcp(f"{folder}/step-100"), RANKS),
            "megatron-dist": Writer(megatron, load_megatron, RANKS),
            "deepspeed": Writer(deepspeed, load_deepspeed, RANKS),
        },
        before=start_helper,
    )
