"""A trainer for tests. How it meets SIGTERM is its first argument, "sdk" or "bare" its second, how many steps it makes its third;
a fourth names a file that, once it is there, means that these were enough.

It says what happens on standard output, a line each, so that a test can wait for it.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

MANNER, KIND, TOTAL = sys.argv[1], sys.argv[2], int(sys.argv[3])
ENOUGH = sys.argv[4] if len(sys.argv) > 4 else ""


def say(*words):
    print(*words, flush=True)


def wait_for_ever():
    while True:
        time.sleep(60)


def on_sigterm(*_):
    say("heard")
    if MANNER == "exits":
        sys.exit(0)
    wait_for_ever()


if MANNER in ("exits", "hangs"):
    signal.signal(signal.SIGTERM, on_sigterm)
if MANNER == "ignores":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

state = {"sum": 0}
start = 0
run = None
if KIND == "sdk":
    import holdfast

    run = holdfast.attach()
    start = run.resume(lambda folder: state.update(json.loads((folder / "state.json").read_text())))
say("start", start)
for step in range(start, TOTAL):
    time.sleep(0.002)
    if ENOUGH and os.path.exists(ENOUGH):
        break
    state["sum"] += step
    if run is not None and run.step(step, loss=1 / (step + 1)):
        with run.save(step) as folder:
            Path(folder, "state.json").write_text(json.dumps(state))
    if step == start + 5:
        say("ready")
    if step == start + 5 and MANNER == "hangs":
        wait_for_ever()
    if step == start + 5 and MANNER == "fails":
        sys.exit(9)
if run is not None:
    run.finish()
say("finished", state["sum"])
if MANNER == "lingers":
    wait_for_ever()
