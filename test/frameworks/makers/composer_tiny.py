"""A ComposerModel around the tiny model and trainers for it, for the maker and the loader alike.

Composer pins an older torch, so it has a family of its own.
"""

from __future__ import annotations

from typing import Any

import torch
from composer import Trainer
from composer.models import ComposerModel
from makers.tiny import TinyModel


class TinyComposerModel(ComposerModel):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.model = TinyModel()

    def forward(self, batch: Any) -> torch.Tensor:
        return self.model(batch[0])

    def loss(self, outputs: torch.Tensor, batch: Any) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(outputs, batch[1])


def trainer(batches: int, **changes: Any) -> Trainer:
    torch.set_num_threads(1)
    model = TinyComposerModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    tokens = torch.arange(64) % 16
    data = torch.utils.data.TensorDataset(tokens, tokens % 4)
    return Trainer(
        model=model,
        optimizers=optimizer,
        schedulers=torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.5),
        step_schedulers_every_batch=True,
        train_dataloader=torch.utils.data.DataLoader(data, batch_size=8),
        max_duration=f"{batches}ba",
        device="cpu",
        seed=7,
        run_name="tiny",
        progress_bar=False,
        **changes,
    )
