"""A trainer for an elastic number of workers. Each step adds the mean over all ranks of one, and rank 0 keeps the sum, as a trainer with
snapshots does: after a change of the workers, torchrun starts all ranks again, and they go on behind the last step.

    elastic.py SHARED TOTAL

Rank 0 replaces the file `snapshot` in the folder SHARED after each step: the sum, and the number of workers of every step. Until the file `go`
lies there, a step takes a fifth of a second, and no step is the last one.
"""

import json
import os
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

shared, total = Path(sys.argv[1]), int(sys.argv[2])
snapshot = shared / "snapshot"


def main():
    dist.init_process_group("gloo")
    rank, workers = dist.get_rank(), dist.get_world_size()
    state = {"sum": 0.0, "workers": []}
    if rank == 0 and snapshot.exists():
        state = json.loads(snapshot.read_text())
    # Rank 0 alone has the state, and decides for all whether this step is the last one.
    while True:
        is_told = rank == 0 and (shared / "go").exists()
        is_last = is_told and len(state["workers"]) + 1 >= total
        one = torch.tensor([1.0, float(is_told), float(is_last)])
        dist.all_reduce(one)
        if rank == 0:
            state = {"sum": state["sum"] + float(one[0]) / workers, "workers": [*state["workers"], workers]}
            new = shared / "snapshot.new"
            new.write_text(json.dumps(state))
            os.replace(new, snapshot)
        if one[2] > 0:
            break
        if one[1] == 0:
            time.sleep(0.2)
    dist.destroy_process_group()


main()
