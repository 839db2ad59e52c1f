"""A trainer for measurements: it does what the lines on its standard input say, and answers each with a line.

    save        saves a step: `handed STEP SECONDS FOLDER`, the time from wanting to save until it could go on
    wait        until that is sealed: `sealed STEP`
    plain DIR   writes the same bytes into a folder: `plain SECONDS`
"""

import os
import sys
import time
from pathlib import Path

import holdfast

BYTES = int(sys.argv[1])
BLOCK = os.urandom(min(BYTES, 8 * 1024 * 1024))


def write(folder):
    with open(folder / "state", "wb", buffering=0) as file:
        for at in range(0, BYTES, len(BLOCK)):
            file.write(BLOCK[: BYTES - at])


run = holdfast.attach()
step = 0
print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    word, *rest = line.split()
    started = time.perf_counter()
    if word == "save":
        step += 1
        if run.step(step):
            with run.save(step) as folder:
                write(folder)
            print("handed", step, time.perf_counter() - started, folder, flush=True)
    elif word == "wait":
        while run.last_sealed != step:
            time.sleep(0.002)
        print("sealed", step, flush=True)
    elif word == "plain":
        write(Path(rest[0]))
        print("plain", time.perf_counter() - started, flush=True)
