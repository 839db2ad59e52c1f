"""The trainer of the torchrun example, slow until a test lets it go on: each step takes half a second until the file `go` lies in the folder SHARED.

    gang.py EXAMPLE SHARED TOTAL

It prints "stepping" after its third step. For the rank RANK, the file `eat-RANK` has it take memory until it is killed, `fill-RANK` 64 MiB in the
folder /scratch, and `fill-more-RANK` 640 MiB in /tmp. Every step touches `stepped-RANK`. A finished rank leaves the last line that it printed in
`ended-RANK`.
"""

import builtins
import os
import runpy
import sys
import time
from pathlib import Path

example, shared, total = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
PIECE = 64 << 20
rank = os.environ["RANK"]
sleep = time.sleep
tell = builtins.print
steps = 0


def eat():
    pieces = []
    while True:
        pieces.append(bytearray(b"x" * PIECE))


def fill(folder, size):
    with open(Path(folder) / "filling", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, size)


def is_told(what):
    order = shared / f"{what}-{rank}"
    if not order.exists():
        return False
    order.unlink()
    return True


def pause(seconds):
    global steps
    steps += 1
    if steps == 3:
        print("stepping", flush=True)
    (shared / f"stepped-{rank}").touch()
    if is_told("eat"):
        eat()
    if is_told("fill"):
        fill("/scratch", PIECE)
    if is_told("fill-more"):
        fill("/tmp", 10 * PIECE)
    if not (shared / "go").exists():
        sleep(seconds)


def note(text, **more):
    tell(text, **more)
    if text.startswith("finished"):
        (shared / f"ended-{rank}").write_text(text)


time.sleep = pause
builtins.print = note
sys.argv = [example, total, "0.5"]
runpy.run_path(example, run_name="__main__")
