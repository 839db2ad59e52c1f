"""A DeepSpeed engine over the tiniest model on CPU ranks, for the maker and the loader alike.

DeepSpeed would compile a shared-memory extension on first use; told that the machine cannot, it talks through gloo alone.
"""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("DS_ACCELERATOR", "cpu")
import deepspeed
import deepspeed.runtime.zero.muon.muon_optimizer  # with the next, three seconds that every forked rank would spend anew
import torch
import torch._dynamo
from makers.tiny import TinierModel

deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False


def engine(stage: int, model: torch.nn.Module | None = None) -> Any:
    torch.set_num_threads(1)
    deepspeed.init_distributed(dist_backend="gloo", verbose=False)
    torch.manual_seed(7)
    model = model or TinierModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.5)
    configuration = {
        "train_micro_batch_size_per_gpu": 4,
        "zero_optimization": {"stage": stage},
        "zero_force_ds_cpu_optimizer": False,
    }
    return deepspeed.initialize(
        model=model, optimizer=optimizer, lr_scheduler=scheduler, config=configuration
    )[0]
