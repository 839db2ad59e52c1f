"""A trainer whose save of one step waits when a tenth of its bytes are written until a file is there,
so that a test can decide what happens meanwhile.

Arguments: how many steps, the step whose save waits (-1: none), the file it waits for. It saves when it is told to, and says what it does, a
line each.
"""

import json
import os
import sys
import time

import holdfast

PADDING = 1_000_000
TOTAL, HELD, GATE = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]


def say(*words):
    print(*words, flush=True)


run = holdfast.attach()
state = {"sum": 0}
start = run.resume(lambda folder: state.update(json.loads((folder / "state.json").read_text())))
say("start", start, os.getpid())
for step in range(start, TOTAL):
    state["sum"] += step
    if run.step(step):
        with run.save(step) as folder:
            (folder / "state.json").write_text(json.dumps(state))
            (folder / "padding").write_bytes(bytes(PADDING // 10 if step == HELD else PADDING))
            say("writing", step, folder)
            while step == HELD and not os.path.exists(GATE):
                time.sleep(0.005)
        say("handed", step)
run.finish()
say("finished", state["sum"])
