"""Data-parallel training under torchrun with the SDK in every rank; the first rank writes the state.

family: torch

Prints the weights at the end, as bits, so that an interrupted run can be compared with one that never was.
"""

import hashlib
import sys

import torch
import torch.distributed as dist

import holdfast

TOTAL = int(sys.argv[1])

torch.manual_seed(0)
dist.init_process_group("gloo")
rank = dist.get_rank()
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.2), torch.nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
parallel = torch.nn.parallel.DistributedDataParallel(model)
torch.manual_seed(1000 + rank)


def load(folder):
    state = torch.load(folder / "state.pt", weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(torch.load(folder / f"rng-{rank}.pt", weights_only=True))


run = holdfast.attach()
start = run.resume(load)
print(f"start {rank} {start}", flush=True)
for step in range(start, TOTAL):
    inputs = torch.randn(4, 8)
    loss = (parallel(inputs) - inputs.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if run.step(step, loss=loss.item()):
        with run.save(step) as folder:
            torch.save(torch.get_rng_state(), folder / f"rng-{rank}.pt")
            if rank == 0:
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, folder / "state.pt")
    if rank == 0 and step == start + 20:
        print("ready", flush=True)
run.finish()
bits = b"".join(value.detach().numpy().tobytes() for value in model.state_dict().values())
print(f"finished {rank} {hashlib.sha256(bits).hexdigest()}", flush=True)
dist.destroy_process_group()
