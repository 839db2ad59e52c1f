# family: torch
"""torch.distributed.checkpoint: one process, four ranks of FSDP2 under torchrun, and one rank without CRCs.

The four ranks shard their weights and Adam state with fully_shard over gloo and save through get_state_dict, as the
torch tutorials do; the file of each rank holds its slices of every tensor. The marker records the path it was saved
to, so every save is to a relative one.
"""

import contextlib
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from common import EXTRA_STEPS, start_fixture, write_fixture
from loaders.dcp import load
from makers.launch import leave, torchrun
from makers.tiny import TinierModel, Training
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.fsdp import fully_shard

RANKS = 4
EVERYTHING = ("weights", "optimizer", "scheduler", "rng", "step")


def save_on_this_rank() -> None:
    """What each torchrun worker does, in the folder that gets the checkpoint."""
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    torch.manual_seed(7)
    model = TinierModel()
    for layer in (model.embed, model.head, model):
        fully_shard(layer)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=30, gamma=0.5)
    torch.manual_seed(100 + dist.get_rank())
    for _ in range(100 + EXTRA_STEPS):
        tokens = torch.randint(0, 16, (8,))
        loss = torch.nn.functional.cross_entropy(model(tokens), tokens % 4)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    weights, optimizer_state = get_state_dict(model, optimizer)
    state = {
        "model": weights,
        "optimizer": optimizer_state,
        "scheduler": scheduler.state_dict(),
        "step": 100 + EXTRA_STEPS,
        f"rng_{dist.get_rank()}": torch.get_rng_state(),
    }
    dcp.save(state, checkpoint_id="step-100")
    leave()


def main(out_dir: str) -> None:
    common = dict(maker="dcp", format="dcp", step=100, path="step-100", content=EVERYTHING, load=load)
    common["versions"] = {"torch": torch.__version__.split("+")[0]}
    state = Training(TinierModel).run(100).state()

    data = start_fixture(out_dir, "dcp-single")
    with contextlib.chdir(data):
        dcp.save(state, checkpoint_id="step-100")
    write_fixture(data, checksums="all", **common)

    data = start_fixture(out_dir, "dcp-nocrc")
    torch.serialization.set_crc32_options(False)
    try:
        with contextlib.chdir(data):
            dcp.save(state, checkpoint_id="step-100")
    finally:
        torch.serialization.set_crc32_options(True)
    write_fixture(data, checksums="none", **common)

    data = start_fixture(out_dir, "dcp-4-ranks")
    torchrun(__file__, RANKS, data)
    write_fixture(data, ranks=RANKS, checksums="all", **common)


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        save_on_this_rank()
    else:
        main(sys.argv[1])
