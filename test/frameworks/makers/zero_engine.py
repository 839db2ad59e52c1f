"""A DeepSpeed engine over the tiniest model on CPU ranks, for the maker and the loader alike.

DeepSpeed compiles a small shared-memory extension on first use; it goes into the environment, not into the home folder.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("DS_ACCELERATOR", "cpu")
os.environ.setdefault("TORCH_EXTENSIONS_DIR", str(Path(sys.prefix) / "torch_extensions"))
import deepspeed
import torch
from makers.tiny import TinierModel


def engine(stage: int) -> Any:
    torch.set_num_threads(1)
    deepspeed.init_distributed(dist_backend="gloo", verbose=False)
    torch.manual_seed(7)
    model = TinierModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.5)
    configuration = {
        "train_micro_batch_size_per_gpu": 4,
        "zero_optimization": {"stage": stage},
        "zero_force_ds_cpu_optimizer": False,
    }
    return deepspeed.initialize(model=model, optimizer=optimizer, lr_scheduler=scheduler, config=configuration)[0]
