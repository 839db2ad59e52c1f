"""A model of a few large layers after one real step: state that takes long enough to save to be killed in between."""

from __future__ import annotations

import torch


class BigModel(torch.nn.Module):
    """20 MiB of weights; with Adam's moments 60 MiB."""

    def __init__(self, width: int = 1024, depth: int = 5) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(depth)))

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return self.layers(batch)


class BigTraining:
    def __init__(self, width: int = 1024, depth: int = 5) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(7)
        self.model = BigModel(width, depth)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=30)
        self.model(torch.randn(2, width)).square().mean().backward()
        self.optimizer.step()
        self.scheduler.step()
        self.optimizer.zero_grad()
        self.step = 100

    def state(self) -> dict:
        return {
            "step": self.step,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "rng": torch.get_rng_state(),
        }
