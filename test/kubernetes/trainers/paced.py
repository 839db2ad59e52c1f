"""A trainer with steps and saves of a fixed length, which saves every so many steps by itself, and whenever the supervisor asks.

    paced.py STEP_SECONDS SAVE_SECONDS EVERY SHARED

Several ranks wait for each other at every step (torch.distributed), so that they also agree on the step of a save. In the folder SHARED the first
rank keeps its newest step in `step`, and adds the first step of every start to `starts`. It trains until it is ended.
"""

import os
import sys
import time
from pathlib import Path

import holdfast

STEP_SECONDS, SAVE_SECONDS = float(sys.argv[1]), float(sys.argv[2])
EVERY, SHARED = int(sys.argv[3]), Path(sys.argv[4])
RANK, WORLD = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


def meet():
    """Returns what waits for all ranks."""
    if WORLD == 1:
        return lambda: None
    import torch.distributed as dist

    dist.init_process_group("gloo")
    return dist.barrier


def load(folder):
    return (folder / f"state-{RANK}").read_text()


wait_for_all = meet()
run = holdfast.attach()
start = run.resume(load)
print(f"from step {start}", flush=True)
if RANK == 0:
    with (SHARED / "starts").open("a") as file:
        file.write(f"{start}\n")
step = start
while True:
    time.sleep(STEP_SECONDS)
    wait_for_all()
    if RANK == 0:
        (SHARED / "step.new").write_text(str(step))
        (SHARED / "step.new").rename(SHARED / "step")
    if run.step(step) or step % EVERY == 1:
        with run.save(step) as folder:
            time.sleep(SAVE_SECONDS)
            (folder / f"state-{RANK}").write_text(str(step))
        print(f"saved {step}", flush=True)
    step += 1
