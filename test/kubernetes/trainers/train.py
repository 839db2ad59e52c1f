"""The trainer of the example, made so that a test decides when it is interrupted: it waits at a step until a file lets it go on.

    train.py MANNER SHARED SCRATCH      MANNER: bare (traps SIGTERM, saves, exits with 0, as people write it) or sdk (under `holdfast run`)

In the folder SHARED: `go` lets it pass; `eat` has it take memory, and `fill` disk in the folder SCRATCH, until it is ended; `result` is what a
finished run has written.
"""

import signal
import sys
import time
from pathlib import Path

manner, shared, scratch = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
TOTAL, HOLD, EVERY = 200, 110, 50
PIECE = 8 << 20
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples" / "stdlib"))
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


def misbehave_when_told():
    if is_told("fill"):
        with (scratch / "filling").open("wb") as file:
            for _ in range(8):
                file.write(b"x" * PIECE)
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


def finish():
    (shared / "result").write_text(f"slope {model.slope!r} offset {model.offset!r}\n")


def train_bare():
    state, start = shared / "state.json", 0
    told_to_end = []
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

    print(f"from step {start}", flush=True)
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

    print(f"from step {start}", flush=True)
    for step in range(start, TOTAL):
        model.train_one_step(step)
        tell(step)
        if step == HOLD:
            hold(lambda: tell(HOLD))
    finish()
    run.finish()


train_bare() if manner == "bare" else train_with_sdk()
