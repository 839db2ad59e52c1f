"""A trainer with steps and saves of a fixed length, which saves every so many steps by itself, and whenever the supervisor asks.

    paced.py STEP_SECONDS SAVE_SECONDS EVERY SHARED

In the folder SHARED it keeps its newest step in `step`, and adds the first step of every start to `starts`. It trains until it is ended.
"""

import sys
import time
from pathlib import Path

import holdfast

STEP_SECONDS, SAVE_SECONDS = float(sys.argv[1]), float(sys.argv[2])
EVERY, SHARED = int(sys.argv[3]), Path(sys.argv[4])


def load(folder):
    return (folder / "state").read_text()


run = holdfast.attach()
start = run.resume(load)
print(f"from step {start}", flush=True)
with (SHARED / "starts").open("a") as file:
    file.write(f"{start}\n")
step = start
while True:
    time.sleep(STEP_SECONDS)
    (SHARED / "step.new").write_text(str(step))
    (SHARED / "step.new").rename(SHARED / "step")
    if run.step(step) or step % EVERY == 1:
        with run.save(step) as folder:
            time.sleep(SAVE_SECONDS)
            (folder / "state").write_text(str(step))
        print(f"saved {step}", flush=True)
    step += 1
