"""A trainer that evaluates. "between": between a step and its save, for so many milliseconds as its second argument says; "busy": after a save, inside a
block that says so, until the file is there that its second argument names, and then it trains on until it is ended.

It says what happens on standard output, a line each, so that a test can wait for it.
"""

import itertools
import os
import sys
import time
from pathlib import Path

import holdfast

MANNER = sys.argv[1]


def evaluate(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(0.005)


def save(run, step):
    with run.save(step) as folder:
        Path(folder, "state").write_text(str(step))


def await_sealed(run, step):
    while run.last_sealed != step:
        time.sleep(0.001)


run = holdfast.attach()
run.resume(lambda _: None)
for step in range(6):
    time.sleep(0.002)
    if run.step(step) and MANNER == "between":
        evaluate(int(sys.argv[2]) / 1000)
        save(run, step)
if MANNER == "busy":
    with run.busy("evaluation"):
        # The supervisor answers after it has heard of the block.
        save(run, 5)
        await_sealed(run, 5)
        print("busy", flush=True)
        while not os.path.exists(sys.argv[2]):
            time.sleep(0.005)
    for step in itertools.count(6):
        time.sleep(0.002)
        if run.step(step):
            save(run, step)
run.finish()
