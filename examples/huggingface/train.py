"""A Hugging Face Trainer: one line instead of ``trainer.train()``.

    holdfast run --dir=runs/huggingface --every=50steps -- python examples/huggingface/train.py

Press Ctrl-C, or kill it, and start the same line again: it goes on in the middle of the epoch, and ends with the weights of a run that was
never interrupted. Under torchrun it is the same line again: ``-- torchrun --nproc-per-node=2 examples/huggingface/train.py``.
"""

import hashlib
import sys
import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

import holdfast.transformers

TOTAL = int(sys.argv[1]) if len(sys.argv) > 1 else 300


class Sequences(torch.utils.data.Dataset):
    def __len__(self):
        return 200

    def __getitem__(self, index):
        tokens = (torch.arange(16) * (index + 1)) % 64
        return {"input_ids": tokens, "labels": tokens}


def main():
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=16, n_embd=32, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0))
    with tempfile.TemporaryDirectory() as scratch:
        arguments = TrainingArguments(
            output_dir=scratch,
            save_strategy="no",
            max_steps=TOTAL,
            per_device_train_batch_size=4,
            gradient_accumulation_steps=2,
            dataloader_num_workers=2,
            dataloader_pin_memory=False,
            use_cpu=True,
            report_to=[],
            disable_tqdm=True,
        )
        trainer = Trainer(model=model, args=arguments, train_dataset=Sequences())
        holdfast.transformers.train(trainer)
    weights = b"".join(value.numpy().tobytes() for value in model.state_dict().values())
    print(f"finished with weights {hashlib.sha256(weights).hexdigest()[:16]}", flush=True)


if __name__ == "__main__":
    main()
