# family: torch
"""Restores an Accelerate folder into a fresh, differently seeded training with load_state."""

import random
import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import accelerate
import numpy
import torch
import torch._dynamo  # by the first optimizer of every forked load otherwise, which takes most of its time
from accelerate.utils import set_seed
from common import loader_main
from makers.tiny import TinyModel

torch.set_num_threads(1)


def load(path: str) -> Any:
    accelerate.state.PartialState._reset_state()
    accelerate.state.AcceleratorState._reset_state()
    set_seed(1)
    accelerator = accelerate.Accelerator(cpu=True)
    model = TinyModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.5)
    tokens = torch.utils.data.DataLoader(torch.arange(32) % 16, batch_size=8, shuffle=True)
    model, optimizer, scheduler, tokens = accelerator.prepare(model, optimizer, scheduler, tokens)
    accelerator.load_state(path)
    return {
        "step": accelerator.step,
        "weights": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
        "rng": [torch.get_rng_state(), random.getstate(), numpy.random.get_state()],
        "sampler": [list(batch) for batch in tokens.batch_sampler],
    }


if __name__ == "__main__":
    loader_main(load)
