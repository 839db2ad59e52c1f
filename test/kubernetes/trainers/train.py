"""The trainer of the example, made so that a test decides when it is interrupted: it waits at a step until a file lets it go on.

    train.py TOTAL STEP_SECONDS [MANNER SHARED]

It lies where the example's own would, and is called as that is; its steps take no time. Without a MANNER it is under `holdfast run`. With one it is not:
bare (traps SIGTERM, saves, exits with 0, as people write it), untrapped (the same without a trap) or stubborn (trains nothing, and stays when it is told
to end: it measures how long it may).

In the folder SHARED, which under `holdfast run` is the one above its run: `go` lets it pass; `eat` has it take memory, `fill` and `fill-more` 64 MiB and
1.25 GiB in /tmp; `starts` has the first step of every start, `supervisor` the program that has started it, `result` is what a finished run has
written, `grace` the seconds that a stubborn one has lived since it was told to end.
"""

import os
import signal
import sys
import time
from pathlib import Path

told = sys.argv[3:]
del sys.argv[3:]
import line  # noqa: E402: it takes the rest

line.STEP_SECONDS = 0
MANNER, SHARED = (told[0], Path(told[1])) if told else ("sdk", Path(os.environ["HOLDFAST_DIR"]).parent)
HOLD, EVERY = 410, 200
PIECE = 8 << 20
model = line.Model()


def is_told(name):
    """Once: what it was told is not told to the next one."""
    try:
        (SHARED / name).unlink()
    except FileNotFoundError:
        return False
    return True


def fill(size):
    """Takes the room, and the time of none of the writing."""
    with open("/tmp/filling", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)


def misbehave_when_told():
    if is_told("fill"):
        fill(64 << 20)
    if is_told("fill-more"):
        fill(1280 << 20)
    if is_told("eat"):
        pieces = []
        while True:
            pieces.append(bytearray(b"x" * PIECE))


def hold(look):
    """Waits to be let go on; `look` is called meanwhile."""
    print("holding", flush=True)
    while not (SHARED / "go").exists():
        misbehave_when_told()
        look()
        time.sleep(0.02)


def begin(start):
    with (SHARED / "starts").open("a") as file:
        file.write(f"{start}\n")


def finish():
    (SHARED / "result").write_text(f"slope {model.slope!r} offset {model.offset!r}\n")


def train_bare(traps):
    state, start = SHARED / "state.json", 0
    told_to_end = []
    if traps:
        signal.signal(signal.SIGTERM, lambda *_: told_to_end.append(True))
    if state.exists():
        model.load(state)
        start = len(model.losses)

    def save(step):
        model.save(SHARED / "state.new", step)
        (SHARED / "state.new").rename(state)

    def leave_when_told(step):
        if told_to_end:
            save(step)
            print("saved, leaving with 0", flush=True)
            sys.exit(0)

    begin(start)
    for step in range(start, line.TOTAL):
        model.train_one_step(step)
        if step > 0 and step % EVERY == 0:
            save(step)
        if step == HOLD:
            hold(lambda: leave_when_told(HOLD))
        leave_when_told(step)
    finish()


def train_with_sdk():
    import holdfast

    (SHARED / "supervisor").write_text(os.readlink(f"/proc/{os.getppid()}/exe"))
    run = holdfast.attach()
    start = run.resume(lambda folder: model.load(folder / "state.json"))

    def tell(step):
        if run.step(step):
            with run.save(step) as folder:
                model.save(folder / "state.json", step)

    begin(start)
    for step in range(start, line.TOTAL):
        model.train_one_step(step)
        tell(step)
        if step == HOLD:
            hold(lambda: tell(HOLD))
    finish()
    run.finish()


def stay():
    told = []
    signal.signal(signal.SIGTERM, lambda *_: told.append(time.monotonic()))

    def measure():
        if told:
            (SHARED / "grace.new").write_text(f"{time.monotonic() - told[0]:.2f}\n")
            (SHARED / "grace.new").rename(SHARED / "grace")

    hold(measure)


MANNERS = {"bare": lambda: train_bare(True), "untrapped": lambda: train_bare(False), "sdk": train_with_sdk, "stubborn": stay}
MANNERS[MANNER]()
