"""A GPT-2 of a thousand parameters and its data, for the makers and loaders of the Hugging Face libraries."""

from __future__ import annotations

import torch
from transformers import GPT2Config, GPT2LMHeadModel, TrainingArguments


class Sequences(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 32

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        tokens = (torch.arange(8) * (index + 1)) % 16
        return {"input_ids": tokens, "labels": tokens}


def tiny_gpt2() -> GPT2LMHeadModel:
    torch.set_num_threads(1)
    torch.manual_seed(7)
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=16, n_positions=8, n_embd=8, n_layer=1, n_head=1, bos_token_id=0, eos_token_id=0
        )
    )


def arguments(**changes: object) -> TrainingArguments:
    return TrainingArguments(
        **{
            "output_dir": "run",
            "max_steps": 6,
            "save_steps": 2,
            "per_device_train_batch_size": 4,
            "use_cpu": True,
            "report_to": [],
            "disable_tqdm": True,
            "logging_strategy": "no",
            "dataloader_pin_memory": False,
            "seed": 7,
            **changes,
        }
    )
