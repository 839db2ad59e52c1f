"""Several ranks under torchrun, saved with torch's distributed checkpoints in the background.

    holdfast run --dir=runs/torchrun --every=50steps -- torchrun --standalone --nproc-per-node=2 examples/torchrun/train.py

Press Ctrl-C, or kill any rank, and start the same line again: all ranks go on after the same step, and end with the weights of a run that was
never interrupted. It takes how many steps, and how many seconds a step takes at least, as one of a large model would: TOTAL STEP_SECONDS.
With three ranks or more the same weights to the last bit come only with ``DistributedDataParallel(model, find_unused_parameters=True)``.
"""

import hashlib
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import holdfast
import holdfast.dcp

TOTAL = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
STEP_SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    inputs = torch.randn(500, 16)
    data = TensorDataset(inputs, inputs.sin().sum(1, keepdim=True))
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data), num_workers=1)
    model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 1))
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(parallel.parameters(), lr=1e-3)
    torch.manual_seed(1000 + dist.get_rank())

    state = holdfast.dcp.State(parallel, optimizer, loader=loader)
    run = holdfast.attach()
    start = run.resume(state.load)
    print(f"rank {dist.get_rank()} from step {start}", flush=True)
    batches = state.batches()
    for step in range(start, TOTAL):
        x, y = next(batches)
        loss = torch.nn.functional.mse_loss(parallel(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(STEP_SECONDS)
        if run.step(step, loss=loss.item()):
            state.async_save(run, step)
    state.wait()
    run.finish()
    weights = b"".join(value.numpy().tobytes() for value in model.state_dict().values())
    print(f"finished with weights {hashlib.sha256(weights).hexdigest()[:16]}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
