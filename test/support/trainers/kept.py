"""A trainer that keeps the file of its saves in memory: every save writes it again and links it into the folder that it was given.

    kept.py STEPS DIE_AT

It prints `start STEP PID`, `writing STEP FOLDER LINKS` with how many others have the file at that time, and `finished STEP`. After the save of DIE_AT it
is killed.
"""

import os
import signal
import sys

import holdfast

BYTES = 1 << 20
TOTAL, DIE_AT = (int(one) for one in sys.argv[1:])


def load(folder):
    global state
    state = int((folder / "state.txt").read_text().split("\n")[0])


state = 0
run = holdfast.attach()
start = run.resume(load)
assert state == max(0, start - 1), (state, start)
kept = run._supervisor.reserve(BYTES) / "state"
kept.write_bytes(bytes(BYTES))
# Every save is made of it, and needs no other memory.
run._due_save.links = True
print("start", start, os.getpid(), flush=True)
for step in range(start, TOTAL):
    if run.step(step):
        with run.save(step) as folder:
            print("writing", step, folder, os.stat(kept).st_nlink - 1, flush=True)
            with open(kept, "r+b") as file:
                file.write(b"%d\n" % step)
            os.link(kept, folder / "state.txt")
        if step == DIE_AT:
            os.kill(os.getpid(), signal.SIGKILL)
run.finish()
print("finished", TOTAL, flush=True)
