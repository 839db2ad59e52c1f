# family: torch
"""Writers of training loops: transformers' Trainer, Accelerate, Lightning."""

import logging
import random
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any, Callable

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import accelerate
import lightning
import numpy
import torch
import transformers
from makers.hf_tiny import Sequences, arguments
from safetensors.torch import load_file
from writers.big import BigModel
from writers.zygote import Writer, serve

torch.set_num_threads(1)
torch.manual_seed(7)
SIZES = dict(vocab_size=4096, n_positions=8, n_embd=512, n_layer=1, n_head=1)
GPT2 = transformers.GPT2LMHeadModel(transformers.GPT2Config(**SIZES, bos_token_id=0, eos_token_id=0))


OPTIONS = arguments(output_dir=tempfile.gettempdir(), max_steps=1, save_strategy="no")
TRAINER = transformers.Trainer(model=GPT2, args=OPTIONS, train_dataset=Sequences())
TRAINER.train()


def hf_trainer(folder: str) -> Callable[[], None]:
    """After one step of training, the function that train() calls when a save is due."""
    TRAINER.args.output_dir = folder
    return lambda: TRAINER._save_checkpoint(TRAINER.model, trial=None)


def load_hf_trainer(folder: str) -> Any:
    """Every file as the Trainer reads it when it resumes."""
    path = f"{folder}/checkpoint-1"
    state = transformers.TrainerState.load_from_json(f"{path}/trainer_state.json")
    unsafe = dict(map_location="cpu", weights_only=False)
    return {
        "step": state.global_step,
        "weights": load_file(f"{path}/model.safetensors"),
        "optimizer": torch.load(f"{path}/optimizer.pt", map_location="cpu", weights_only=True),
        "scheduler": torch.load(f"{path}/scheduler.pt", map_location="cpu", weights_only=True),
        "rng": {k: v for k, v in torch.load(f"{path}/rng_state.pth", **unsafe).items() if k != "cuda"},
    }


def _accelerated() -> tuple[accelerate.Accelerator, Any, Any, Any]:
    accelerate.utils.set_seed(7)
    accelerator = accelerate.Accelerator(cpu=True)
    model = BigModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=30)
    return accelerator, *accelerator.prepare(model, optimizer, scheduler)


def accelerate_state(folder: str) -> Callable[[], None]:
    accelerator, model, optimizer, scheduler = _accelerated()
    accelerator.backward(model(torch.randn(2, 1024)).square().mean())
    optimizer.step()
    scheduler.step()
    return lambda: accelerator.save_state(f"{folder}/checkpoint_0")


def load_accelerate_state(folder: str) -> Any:
    accelerator, model, optimizer, scheduler = _accelerated()
    accelerator.load_state(f"{folder}/checkpoint_0")
    rng = [torch.get_rng_state(), random.getstate(), numpy.random.get_state()]
    return [model.state_dict(), optimizer.state_dict(), scheduler.state_dict(), rng]


class BigModule(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.model = BigModel()

    def training_step(self, batch: torch.Tensor, _: int) -> torch.Tensor:
        return self.model(batch).square().mean()

    def configure_optimizers(self) -> Any:
        return torch.optim.Adam(self.parameters(), lr=1e-3)

    def train_dataloader(self) -> Any:
        return torch.utils.data.DataLoader(torch.randn(2, 1024), batch_size=2)


def lightning_ckpt(folder: str) -> Callable[[], None]:
    quiet = dict(logger=False, enable_progress_bar=False, enable_model_summary=False)
    trainer = lightning.Trainer(accelerator="cpu", devices=1, max_steps=1, enable_checkpointing=False, **quiet)
    trainer.fit(BigModule())
    return lambda: trainer.save_checkpoint(f"{folder}/epoch=0-step=1.ckpt")


def load_lightning(folder: str) -> Any:
    path = f"{folder}/epoch=0-step=1.ckpt"
    module = BigModule.load_from_checkpoint(path, map_location="cpu")
    return module.state_dict(), torch.load(path, map_location="cpu", weights_only=False)["optimizer_states"]


if __name__ == "__main__":
    serve(
        {
            "hf-trainer": Writer(hf_trainer, load_hf_trainer),
            "accelerate": Writer(accelerate_state, load_accelerate_state),
            "lightning": Writer(lightning_ckpt, load_lightning),
        }
    )
