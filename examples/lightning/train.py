"""A Lightning Trainer: one callback.

    holdfast run --dir=runs/lightning --every=50steps -- python examples/lightning/train.py

Press Ctrl-C, or kill it, and start the same line again: it goes on in the middle of the epoch, and ends with the weights of a run that was
never interrupted. A second number is that of the ranks: ``examples/lightning/train.py 300 2``.
"""

import hashlib
import sys

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

from holdfast.lightning import HoldfastCallback

TOTAL = int(sys.argv[1]) if len(sys.argv) > 1 else 300
RANKS = int(sys.argv[2]) if len(sys.argv) > 2 else 1


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 1))

    def training_step(self, batch, _):
        x, y = batch
        return torch.nn.functional.mse_loss(self.layers(x), y)

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val_loss", torch.nn.functional.mse_loss(self.layers(x), y))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def main():
    lightning.seed_everything(0)
    inputs = torch.randn(300, 16)
    data = TensorDataset(inputs, inputs.sin().sum(1, keepdim=True))
    model = Model()
    trainer = lightning.Trainer(
        callbacks=[HoldfastCallback()],
        max_steps=TOTAL,
        accumulate_grad_batches=2,
        accelerator="cpu",
        devices=RANKS,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, DataLoader(data, batch_size=8, shuffle=True, num_workers=2, persistent_workers=True), DataLoader(data, batch_size=64))
    weights = b"".join(value.numpy().tobytes() for value in model.state_dict().values())
    print(f"finished with weights {hashlib.sha256(weights).hexdigest()[:16]}", flush=True)


if __name__ == "__main__":
    main()
