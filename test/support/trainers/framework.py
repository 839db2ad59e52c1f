"""A trainer without the SDK that saves by itself, the way frameworks do, as NumPy archives with optimizer state.

Arguments: the folder, the manner, and how many steps it makes.
  rotates      step-N.npz every 10 steps; only the newest is kept, the one before is deleted right after
  keeps        step-N.npz every 10 steps; all are kept
  overwrites   last.npz, written over in place every 10 steps
  folders      step-N/state.npz every 10 steps; only the newest folder is kept
  deeper       logs/version_0/step-N.npz every 10 steps; only the newest is kept
It resumes from HOLDFAST_RESUME_PATH, or from the file given with --from. A file called `hold` in the folder makes it wait before each save, one called
`slow` makes it write half of the save and wait: for the test, or for being killed. With --export it writes the weights alone
when it is done. On SIGTERM it saves once more and ends with 0, as it was taught.
"""

import io
import json
import os
import shutil
import signal
import struct
import sys
import time
import zipfile
from pathlib import Path

FOLDER, MANNER, TOTAL = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
FOLDER.mkdir(parents=True, exist_ok=True)
EVERY = 10


def array(values):
    """The bytes of a .npy file with these whole numbers."""
    header = json.dumps({"descr": "<i8", "fortran_order": False, "shape": []}).replace("false", "False").replace("[]", f"({len(values)},)")
    header = header.replace('"', "'")
    header += " " * ((64 - (10 + len(header) + 1) % 64) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}q", *values)


def archive(state):
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as out:
        out.writestr("model.npy", array([state["sum"]] * 4096))
        out.writestr("optimizer.npy", array([state["sum"] * 2] * 4096))
        out.writestr("step.npy", array([state["step"]]))
    return whole.getvalue()


def load(path):
    path = Path(path)
    with zipfile.ZipFile(path / "state.npz" if path.is_dir() else path) as data:
        def numbers(name):
            raw = data.read(name)
            start = 10 + struct.unpack("<H", raw[8:10])[0]
            return struct.unpack(f"<{(len(raw) - start) // 8}q", raw[start:])

        return {"sum": numbers("model.npy")[0], "step": numbers("step.npy")[0]}


def wait_while(name):
    while (FOLDER / name).exists():
        time.sleep(0.005)


def write(path, data):
    with open(path, "wb") as out:
        out.write(data[: len(data) // 2])
        out.flush()
        if (FOLDER / "slow").exists():
            print("half", path.name, flush=True)
            wait_while("slow")
        out.write(data[len(data) // 2 :])


def save(state):
    wait_while("hold")
    step = state["step"]
    if MANNER == "overwrites":
        write(FOLDER / "last.npz", archive(state))
    elif MANNER == "folders":
        (FOLDER / f"step-{step}").mkdir(exist_ok=True)
        write(FOLDER / f"step-{step}" / "state.npz", archive(state))
        for old in FOLDER.glob("step-*"):
            if old.name != f"step-{step}":
                shutil.rmtree(old)
    else:
        folder = FOLDER / "logs/version_0" if MANNER == "deeper" else FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        write(folder / f"step-{step}.npz", archive(state))
        for old in folder.glob("step-*.npz"):
            if MANNER != "keeps" and old.name != f"step-{step}.npz":
                old.unlink()
    print("saved", step, flush=True)


told = False


def on_sigterm(*_):
    global told
    told = True


signal.signal(signal.SIGTERM, on_sigterm)
state = {"sum": 0, "step": 0}
resume = sys.argv[sys.argv.index("--from") + 1] if "--from" in sys.argv else os.environ.get("HOLDFAST_RESUME_PATH")
if resume:
    state = load(resume)
print("start", state["step"], flush=True)
while state["step"] < TOTAL and not told:
    time.sleep(0.01)
    state = {"sum": state["sum"] + state["step"], "step": state["step"] + 1}
    if state["step"] % EVERY == 0:
        save(state)
if told:
    save(state)
    sys.exit(0)
if "--export" in sys.argv:
    # As frameworks do at the end: the weights alone, beside the checkpoints.
    with zipfile.ZipFile(FOLDER / "export.npz", "w") as out:
        out.writestr("model.npy", array([state["sum"]] * 4096))
print("finished", state["sum"], flush=True)
