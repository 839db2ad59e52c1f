"""The trainer of the example, made so that a test decides when it is interrupted: it waits at a step until a file lets it go on.

    train.py MANNER SHARED SCRATCH      MANNER: bare (traps SIGTERM, saves, exits with 0, as people write it), untrapped (the same without a trap),
                                        sdk (under `holdfast run`) or stubborn (trains nothing, and stays when it is told to end: it measures
                                        how long it may)

In the folder SHARED: `go` lets it pass; `eat` has it take memory, `fill` and `fill-more` 64 and 160 MiB in the folder SCRATCH; `starts` has the
first step of every start, `result` is what a finished run has written, `grace` the seconds that a stubborn one has lived since it was told to end.
"""

import signal
import sys
import time
from pathlib import Path

manner, shared, scratch = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
TOTAL, HOLD, EVERY = 200, 110, 50
PIECE = 8 << 20
sys.argv[1:] = [str(TOTAL), "0"]
from line import Model  # noqa: E402

model = Model()


def is_told(name):
    """Once: what it was told is not told to the next one."""
    try:
        (shared / name).unlink()
    except FileNotFoundError:
        return False
    return True


def fill(path, pieces):
    with path.open("wb") as file:
        for _ in range(pieces):
            file.write(b"x" * PIECE)


def misbehave_when_told():
    if is_told("fill"):
        fill(scratch / "filling", 8)
    if is_told("fill-more"):
        fill(scratch / "filling", 20)
    if is_told("eat"):
        pieces = []
        while True:
            pieces.append(bytearray(b"x" * PIECE))


def hold(look):
    """Waits to be let go on; `look` is called meanwhile."""
    print("holding", flush=True)
    while not (shared / "go").exists():
        misbehave_when_told()
        look()
        time.sleep(0.02)


def begin(start):
    with (shared / "starts").open("a") as file:
        file.write(f"{start}\n")


def finish():
    (shared / "result").write_text(f"slope {model.slope!r} offset {model.offset!r}\n")


def train_bare(traps):
    state, start = shared / "state.json", 0
    told_to_end = []
    if traps:
        signal.signal(signal.SIGTERM, lambda *_: told_to_end.append(True))
    if state.exists():
        model.load(state)
        start = len(model.losses)

    def save(step):
        model.save(shared / "state.new", step)
        (shared / "state.new").rename(state)

    def leave_when_told(step):
        if told_to_end:
            save(step)
            print("saved, leaving with 0", flush=True)
            sys.exit(0)

    begin(start)
    for step in range(start, TOTAL):
        model.train_one_step(step)
        if step > 0 and step % EVERY == 0:
            save(step)
        if step == HOLD:
            hold(lambda: leave_when_told(HOLD))
        leave_when_told(step)
    finish()


def train_with_sdk():
    import holdfast

    run = holdfast.attach()
    start = run.resume(lambda folder: model.load(folder / "state.json"))

    def tell(step):
        if run.step(step):
            with run.save(step) as folder:
                model.save(folder / "state.json", step)

    begin(start)
    for step in range(start, TOTAL):
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
            (shared / "grace.new").write_text(f"{time.monotonic() - told[0]:.2f}\n")
            (shared / "grace.new").rename(shared / "grace")

    hold(measure)


MANNERS = {"bare": lambda: train_bare(True), "untrapped": lambda: train_bare(False), "sdk": train_with_sdk, "stubborn": stay}
MANNERS[manner]()
