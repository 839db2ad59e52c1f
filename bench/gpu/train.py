"""A trainer on the GPU, for runs that are interrupted: dropout, running statistics, shuffling, and a state of WIDTH² × 48 bytes.

    train.py STEPS WIDTH
"""

import hashlib
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

import holdfast
import holdfast.torch

TOTAL, WIDTH = (int(one) for one in sys.argv[1:])
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def main():
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    inputs = torch.randn(1000, WIDTH)
    loader = DataLoader(TensorDataset(inputs), batch_size=16, shuffle=True, num_workers=2, persistent_workers=True)
    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.BatchNorm1d(WIDTH), torch.nn.Dropout(0.1))]
    model = torch.nn.Sequential(*layers).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, TOTAL)
    state = holdfast.torch.State(model=model, optimizer=optimizer, scheduler=scheduler, loader=loader)
    run = holdfast.attach()
    start = run.resume(state.load)
    print("from", start, flush=True)
    batches = state.batches()
    for step in range(start, TOTAL):
        (x,) = next(batches)
        x = x.to(DEVICE)
        loss = torch.nn.functional.mse_loss(model(x), x)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step()
        if run.step(step, loss=loss.item()):
            state.async_save(run, step)
        if step % 10 == 0:
            print("step", step, flush=True)
    run.finish()
    digest = hashlib.sha256()
    for value in [*model.state_dict().values(), *(one["exp_avg"] for one in optimizer.state_dict()["state"].values())]:
        digest.update(value.cpu().numpy().tobytes())
    print("finished", digest.hexdigest()[:16], flush=True)


if __name__ == "__main__":
    main()
