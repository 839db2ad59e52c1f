"""A tiny model trained for real with Adam and a schedule: the state that the torch makers save.

Written for every torch since 1.13. A few hundred parameters in several tensors, one of them not float32.
"""

from __future__ import annotations

import random
from typing import Any

import torch
from common import EXTRA_STEPS


class TinyModel(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(16, 8)
        self.hidden = torch.nn.Linear(8, 16)
        self.norm = torch.nn.BatchNorm1d(16)  # its num_batches_tracked is int64
        self.head = torch.nn.Linear(16, 4)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.norm(self.hidden(self.embed(tokens)))))


class TinierModel(torch.nn.Module):
    """For formats that spend a kilobyte or more on each tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(16, 8)
        self.head = torch.nn.Linear(8, 4)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.embed(tokens))


class Training:
    """A training loop that can stop after any step and tell its state."""

    def __init__(self, model_class: type = TinyModel, seed: int = 7) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        random.seed(seed)
        self.model = model_class()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=30, gamma=0.5)
        self.step = 0

    def run(self, steps: int) -> "Training":
        for _ in range(steps + EXTRA_STEPS):
            tokens = torch.randint(0, 16, (8,))
            loss = torch.nn.functional.cross_entropy(self.model(tokens), tokens % 4)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            self.step += 1
        return self

    def state(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "rng": {"torch": torch.get_rng_state(), "python": random.getstate()},
        }
