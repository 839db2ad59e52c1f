"""Accelerate: one object keeps what was prepared, the place in the data and the random numbers.

    holdfast run --dir=runs/accelerate --every=50steps -- python examples/accelerate/train.py

Press Ctrl-C, or kill it, and start the same line again: it goes on in the middle of the epoch, and ends with the weights of a run that was
never interrupted. With several ranks: ``-- accelerate launch --cpu --num_processes=2 examples/accelerate/train.py``, or torchrun.
"""

import hashlib
import sys

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

import holdfast
import holdfast.accelerate

TOTAL = int(sys.argv[1]) if len(sys.argv) > 1 else 1000


def main():
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    torch.manual_seed(0)
    inputs = torch.randn(500, 16)
    data = TensorDataset(inputs, inputs.sin().sum(1, keepdim=True))
    model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.manual_seed(accelerator.process_index)
    loader = DataLoader(data, batch_size=8, shuffle=True, num_workers=2)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    state = holdfast.accelerate.State(accelerator, loader=loader)
    run = holdfast.attach()
    step = run.resume(state.load)
    print(f"from step {step}", flush=True)
    for x, y in state.batches():
        if step >= TOTAL:
            break
        with accelerator.accumulate(model):
            loss = torch.nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            if run.step(step, loss=loss.item()):
                with run.save(step) as folder:
                    state.save(folder)
            step += 1
    run.finish()
    weights = b"".join(value.numpy().tobytes() for value in accelerator.unwrap_model(model).state_dict().values())
    print(f"finished with weights {hashlib.sha256(weights).hexdigest()[:16]}", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
