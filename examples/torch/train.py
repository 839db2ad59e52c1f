"""Plain PyTorch: shuffling, data-loader workers, dropout and gradient accumulation, kept by one object.

    holdfast run --dir=runs/torch --every=50steps -- python examples/torch/train.py

Press Ctrl-C, or kill it, and start the same line again: it goes on in the middle of the epoch, and ends with the weights of a run that was
never interrupted.
"""

import hashlib
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

import holdfast
import holdfast.torch

TOTAL = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
ACCUMULATE = 2


def main():
    torch.manual_seed(0)
    inputs = torch.randn(500, 16)
    data = TensorDataset(inputs, inputs.sin().sum(1, keepdim=True))
    loader = DataLoader(data, batch_size=8, shuffle=True, num_workers=2, persistent_workers=True)
    model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    state = holdfast.torch.State(model=model, optimizer=optimizer, loader=loader)
    run = holdfast.attach()
    start = run.resume(state.load)
    print(f"from step {start}", flush=True)
    batches = state.batches()
    for step in range(start, TOTAL):
        for _ in range(ACCUMULATE):
            x, y = next(batches)
            loss = torch.nn.functional.mse_loss(model(x), y) / ACCUMULATE
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if run.step(step, loss=loss.item()):
            state.async_save(run, step)
    run.finish()
    weights = b"".join(value.numpy().tobytes() for value in model.state_dict().values())
    print(f"finished with weights {hashlib.sha256(weights).hexdigest()[:16]}", flush=True)


if __name__ == "__main__":
    main()
