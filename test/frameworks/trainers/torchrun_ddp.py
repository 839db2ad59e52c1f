"""Data-parallel training under torchrun with the SDK in every rank; the first rank writes the state.

family: torch

Prints the weights at the end, as bits, so that an interrupted run can be compared with one that never was. A state that is not of the step it
is resumed as, or not of the rank that reads it, ends the rank with "bad". With a second argument, a file, its first eight bytes are the newest
step of the first rank, so that whoever kills it knows how far it was. With EACH_WRITES in the environment every rank writes the state: each has a
folder of its own. With "forgetful" as the third it leaves out the optimizer when it loads. Lines
are printed in one piece: the ranks share a pipe.

The weights are the same bit for bit with any number of ranks because of ``find_unused_parameters=True``; without it with one or two alone.
"""

import hashlib
import os
import sys

import torch
import torch.distributed as dist

import holdfast

TOTAL = int(sys.argv[1])
REACHED = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT) if len(sys.argv) > 2 else None
IS_FORGETFUL = sys.argv[3:] == ["forgetful"]
EACH_WRITES = "EACH_WRITES" in os.environ

torch.manual_seed(0)
dist.init_process_group("gloo")
rank = dist.get_rank()
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.2), torch.nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
# Otherwise torch lays out the gradients anew after the first step of every process, and the first
# step after a resume sums in another order.
parallel = torch.nn.parallel.DistributedDataParallel(model, find_unused_parameters=True)
torch.manual_seed(1000 + rank)


def load(folder):
    state = torch.load(folder / "state.pt", weights_only=True)
    own = torch.load(folder / f"rng-{rank}.pt", weights_only=True)
    loaded.update(step=state["step"], own=own["step"])
    model.load_state_dict(state["model"])
    if not IS_FORGETFUL:
        optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(own["rng"])


loaded = {}
run = holdfast.attach()
start = run.resume(load)
if any(step != start - 1 for step in loaded.values()):
    print(f"bad {rank} {start} {loaded}\n", end="", flush=True)
    sys.exit(70)
print(f"start {rank} {start} {os.getpid()}\n", end="", flush=True)
for step in range(start, TOTAL):
    inputs = torch.randn(4, 8)
    loss = (parallel(inputs) - inputs.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if rank == 0 and REACHED is not None:
        os.pwrite(REACHED, step.to_bytes(8, "little"), 0)
    if run.step(step, loss=loss.item()):
        with run.save(step) as folder:
            torch.save({"step": step, "rng": torch.get_rng_state()}, folder / f"rng-{rank}.pt")
            if rank == 0 or EACH_WRITES:
                state = {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
                torch.save(state, folder / "state.pt")
    if rank == 0 and step == start + 20:
        print("ready\n", end="", flush=True)
run.finish()
bits = b"".join(value.detach().numpy().tobytes() for value in model.state_dict().values())
print(f"finished {rank} {hashlib.sha256(bits).hexdigest()}\n", end="", flush=True)
dist.destroy_process_group()
