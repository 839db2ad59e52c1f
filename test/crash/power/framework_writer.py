# family: torch
"""python framework_writer.py FOLDER JOURNAL SCRATCH: saves as the frameworks do, step after step, until it is killed.

Each way has a folder of its own. What was begun and what had returned is written down, with the digest of every file.
"""

import hashlib
import json
import os
import shutil
import sys
import time
import warnings
from itertools import count
from pathlib import Path

warnings.filterwarnings("ignore")
import torch
import torch.distributed.checkpoint as dcp
from safetensors.torch import save_file

FOLDER, JOURNAL, SCRATCH = map(Path, sys.argv[1:4])
WIDTH = 128


def weights(step: int, name: str) -> dict:
    generator = torch.Generator().manual_seed(step)
    return {f"{name}.{layer}": torch.rand(WIDTH, WIDTH, generator=generator) for layer in range(2)}


def state(step: int) -> dict:
    return {"step": step, "model": weights(step, "model"), "optimizer": weights(step + 1, "moment")}


def torch_in_place(into: Path, step: int) -> None:
    torch.save(state(step), into / "model.pt")


def torch_replaced(into: Path, step: int) -> None:
    torch.save(state(step), into / "model.tmp")
    os.replace(into / "model.tmp", into / "model.pt")


def safetensors_in_place(into: Path, step: int) -> None:
    save_file(weights(step, "model"), into / "model.safetensors", metadata={"step": str(step)})


def dcp_folder(into: Path, step: int) -> None:
    dcp.save(state(step), checkpoint_id=str(into / f"step-{step}"))


def trainer_folder(into: Path, step: int) -> None:
    """The files of a Hugging Face trainer, in its order."""
    folder = into / f"step-{step}"
    folder.mkdir()
    save_file(weights(step, "model"), folder / "model.safetensors", metadata={"format": "pt"})
    torch.save(weights(step + 1, "moment"), folder / "optimizer.pt")
    torch.save({"last_epoch": step}, folder / "scheduler.pt")
    torch.save(torch.get_rng_state(), folder / "rng_state.pth")
    (folder / "trainer_state.json").write_text(json.dumps({"global_step": step}))


#: Those that write one file under the same name each time, and those that make a folder for each
#: step.
FILES = {
    "torch.save to its final name": torch_in_place,
    "torch.save, then os.replace": torch_replaced,
    "safetensors save_file": safetensors_in_place,
}
FOLDERS = {"DCP with its defaults": dcp_folder, "a trainer's folder": trainer_folder}


def digests(root: Path, below: Path) -> dict:
    paths = [path for path in below.rglob("*") if path.is_file()]
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def note(**facts) -> None:
    with JOURNAL.open("a") as journal:
        journal.write(json.dumps(facts) + "\n")


def save_file_way(way: str, save, step: int) -> None:
    into, rehearsal = FOLDER / way, SCRATCH / way
    for folder in (into, rehearsal):
        folder.mkdir(parents=True, exist_ok=True)
    # What it will be must be known before: a cut in the middle may leave the new one whole.
    save(rehearsal, step)
    files = digests(rehearsal, rehearsal)
    note(way=way, step=step, returned=False, files=files)
    save(into, step)
    note(way=way, step=step, returned=True, files=files)


def save_folder_way(way: str, save, step: int) -> None:
    into = FOLDER / way
    into.mkdir(exist_ok=True)
    save(into, step)
    note(way=way, step=step, returned=True, files=digests(into, into / f"step-{step}"))
    shutil.rmtree(into / f"step-{step - 2}", ignore_errors=True)


torch.set_num_threads(1)
for step in count(1):
    for way, save in FILES.items():
        save_file_way(way, save, step)
    for way, save in FOLDERS.items():
        save_folder_way(way, save, step)
    # Between two saves a trainer trains.
    time.sleep(0.1)
