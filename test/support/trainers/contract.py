"""A trainer for the matrix of the contract, by itself or one of several ranks under a launcher; the standard library only.

Arguments: how it meets its end, "sdk" or "bare", a file through which ranks keep step, a file that once it is there means that it is done, and the
folder of a control group with a limit, or "". Of several ranks the last is the one that runs out of memory.

It says what happens on standard output, a line each and in one piece, since ranks share a pipe.
"""

import json
import mmap
import os
import signal
import sys
import time
from pathlib import Path

MANNER, KIND, MEETING, UNTIL, GROUP = sys.argv[1:6]
RANK, WORLD = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
GROWS = MANNER == "ooms" and RANK == WORLD - 1
FIRST_SAVE = 3
"""It makes this one by itself; every other only when it is asked to."""
READY = 5
LAST = 1 << 40
PIECE = 1 << 22


def say(*words):
    print(" ".join(str(word) for word in words) + "\n", end="", flush=True)


def wait_for_ever():
    while True:
        time.sleep(60)


def grow():
    held = []
    while True:
        held.append(b"x" * PIECE)


def on_signal(*_):
    if MANNER == "exits":
        sys.exit(0)
    wait_for_ever()


def leave_daemon():
    """A process of a session of its own, whose parent ends: nobody's child."""
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.write(write_end, str(os.getpid()).encode())
            wait_for_ever()
        os._exit(0)
    os.wait()
    say("daemon", RANK, os.read(read_end, 20).decode())


def open_meeting():
    """How many steps each rank has begun."""
    file = os.open(MEETING, os.O_RDWR | os.O_CREAT)
    os.ftruncate(file, 8 * WORLD)
    return memoryview(mmap.mmap(file, 8 * WORLD)).cast("q")


def keep_step(step):
    """What a collective does: no rank is ever more than a step ahead."""
    begun[RANK] = step + 1
    while min(begun) <= step:
        time.sleep(0.002)


def save(step):
    with run.save(step) as folder:
        if GROWS and step != FIRST_SAVE:
            grow()
        Path(folder, f"rank-{RANK}.json").write_text(json.dumps({"step": step}))


def load(folder):
    state = json.loads((folder / f"rank-{RANK}.json").read_text())
    say("loaded", RANK, state["step"])


if GROWS and GROUP:
    # The process that writes is the one that moves.
    Path(GROUP, "cgroup.procs").write_text("0")
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, {"exits": on_signal, "hangs": on_signal, "ignores": signal.SIG_IGN}.get(MANNER, signal.SIG_DFL))
if MANNER == "daemons":
    leave_daemon()

start, run = 0, None
if KIND == "sdk":
    import holdfast

    run = holdfast.attach()
    start = run.resume(load)
begun = open_meeting()
say("start", RANK, start)
for step in range(start, LAST):
    keep_step(step)
    # Long enough that a run which only waits leaves the processors to others.
    time.sleep(0.02)
    if run is not None and (run.step(step) or step == FIRST_SAVE):
        save(step)
    if step == start + READY:
        say("ready", RANK)
        if MANNER == "hangs":
            wait_for_ever()
    if os.path.exists(UNTIL) and (GROWS or MANNER != "ooms"):
        break
if GROWS:
    grow()
# Nobody waits for one that is done.
begun[RANK] = LAST
if run is not None:
    run.finish()
