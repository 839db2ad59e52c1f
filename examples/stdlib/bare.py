"""The same trainer with the save hook that everybody writes, for comparison: `holdfast demo` interrupts both.

    python3 examples/stdlib/bare.py TOTAL STEP_SECONDS SAVE_SECONDS FOLDER EVERY

It saves every so many steps, saves once more when it is told to end, and resumes from the newest file. That is not enough: a file is called
newest while it is still being written, a cut or damaged one too, and after SIGTERM an unfinished run ends with 0.
"""

import signal
import sys
from pathlib import Path

from line import TOTAL, Model, say

FOLDER, EVERY = Path(sys.argv[4]), int(sys.argv[5])
told_to_end = False


def on_sigterm(*_):
    global told_to_end
    told_to_end = True


def step_of(path):
    return int(path.stem.split("-")[1])


signal.signal(signal.SIGTERM, on_sigterm)
model, start = Model(), 0
newest = max(FOLDER.glob("step-*.json"), key=step_of, default=None)
if newest is not None:
    say(f"loading {newest.name}")
    model.load(newest)
    start = step_of(newest) + 1
print(f"from step {start}", flush=True)
for step in range(start, TOTAL):
    model.train_one_step(step)
    if told_to_end or (step > 0 and step % EVERY == 0):
        model.save(FOLDER / f"step-{step}.json", step)
    if told_to_end:
        # holdfast-lint: off SIGTERM_EXITS_ZERO this is the trainer that does it wrong
        sys.exit(0)
print(f"slope {model.slope!r} offset {model.offset!r}", flush=True)
