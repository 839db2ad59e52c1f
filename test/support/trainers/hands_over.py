"""A trainer for tests that saves, and saves again when it may, and hands that over when it may: two files tell it so by being there.

It says what happens on standard output, a line each, so that a test can wait for it.
"""

import os
import sys
import time

import holdfast

MAY_SAVE, MAY_HAND_OVER = sys.argv[1], sys.argv[2]


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.01)


run = holdfast.attach()
start = run.resume(lambda folder: None)
for step in range(start, 1_000_000_000):
    time.sleep(0.002)
    run.step(step)
    if step == start + 5:
        with run.save(step) as folder:
            (folder / "state").write_text("something")
        wait_for(MAY_SAVE)
    if step == start + 10:
        with run.save(step) as folder:
            (folder / "state").write_text("everything")
            print("written", flush=True)
            wait_for(MAY_HAND_OVER)
    if step == start + 50:
        print("trains on", flush=True)
