"""A LightningModule around the tiny models and trainers for it, for the maker and the loader alike."""

from __future__ import annotations

from typing import Any

import lightning
import torch
from lightning.pytorch.strategies import ModelParallelStrategy
from makers.tiny import TinierModel, TinyModel

STEPS = 4
RANKS = 2


class TinyModule(lightning.LightningModule):
    def __init__(self, sharded: bool = False) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.sharded = sharded
        self.model = TinierModel() if sharded else TinyModel()

    def configure_model(self) -> None:
        if self.sharded:
            from torch.distributed.fsdp import fully_shard

            for layer in (self.model.embed, self.model.head, self.model):
                fully_shard(layer, mesh=self.device_mesh["data_parallel"])

    def training_step(self, batch: torch.Tensor, _: int) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(self.model(batch), batch % 4)

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.5)]

    def train_dataloader(self) -> Any:
        return torch.utils.data.DataLoader(torch.arange(64) % 16, batch_size=8)


def trainer(sharded: bool = False, **changes: Any) -> lightning.Trainer:
    torch.set_num_threads(1)
    if sharded:
        changes["strategy"] = ModelParallelStrategy(data_parallel_size=RANKS, tensor_parallel_size=1)
    return lightning.Trainer(
        **{
            "accelerator": "cpu",
            "devices": RANKS if sharded else 1,
            "max_steps": STEPS,
            "logger": False,
            "enable_progress_bar": False,
            "enable_model_summary": False,
            "enable_checkpointing": False,
            **changes,
        }
    )
