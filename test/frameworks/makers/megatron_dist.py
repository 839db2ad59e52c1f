# family: torch
"""Megatron-Core's torch_dist: two tensor-parallel ranks under torchrun, with and without an integrity.json.

dist_checkpointing.save writes everything inside iter_0000100. Megatron's training loop, which writes the tracker file
beside it, is not part of the published package, so the maker writes the tracker: the number, without a newline.
Likewise no published megatron-core (newest: 0.16.1) can write integrity.json, so the maker adds it in the layout of
Megatron-LM's main branch: SHA-256 of every file at the top of the folder. The saver waits for CUDA and asks
for its device even where there is none; the wait is made to do nothing and the device is the CPU.
"""

import hashlib
import json
import shutil
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import megatron.core
import torch
from common import start_fixture, write_fixture
from loaders.megatron_dist import load
from makers.launch import leave, torchrun
from makers.megatron_tiny import RANKS, STEPS, MegatronTraining
from megatron.core import dist_checkpointing

ITERATION = f"iter_{STEPS:07d}"


def save_on_this_rank() -> None:
    """What each torchrun worker does, in the folder that gets the checkpoint."""
    torch.cuda.synchronize = lambda *_: None
    torch.cuda.current_device = lambda: "cpu"
    training = MegatronTraining().run()
    rank = torch.distributed.get_rank()
    state = training.sharded_state()
    target = Path("run") / ITERATION
    if rank == 0:
        target.mkdir(parents=True)
    torch.distributed.barrier()
    dist_checkpointing.save(state, str(target), ("torch_dist", 1))
    if rank == 0:
        Path("run/latest_checkpointed_iteration.txt").write_text(str(STEPS))
    leave()


def add_integrity(folder: Path) -> None:
    files = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}
    (folder / "integrity.json").write_text(json.dumps({"algorithm": "sha256", "files": files}, indent=2))


def main(out_dir: str) -> None:
    versions = {"megatron-core": megatron.core.__version__, "torch": torch.__version__.split("+")[0]}
    common = dict(
        maker="megatron_dist", path="run", format="megatron-dist", step=STEPS, ranks=RANKS, load=load
    )
    common.update(
        content=("weights", "optimizer", "scheduler", "rng", "step"), checksums="all", versions=versions
    )
    tracker = "latest_checkpointed_iteration.txt is written by the maker: megatron-core has no training loop"

    data = start_fixture(out_dir, "megatron-dist")
    torchrun(__file__, RANKS, data)
    write_fixture(data, note=tracker, **common)

    integrity = start_fixture(out_dir, "megatron-dist-integrity")
    shutil.copytree(data / "run", integrity / "run")
    add_integrity(integrity / "run" / ITERATION)
    note = f"{tracker}; integrity.json too: no published megatron-core writes or checks it"
    write_fixture(integrity, note=note, **common)


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        save_on_this_rank()
    else:
        main(sys.argv[1])
