"""Saves that are killed: a process that has paid for its imports forks the ranks of a save and kills them.

A module of writers ends in serve(WRITERS). It reads JSON lines from standard input and answers each with one:

    {"writer": NAME, "save": FOLDER, "kill_after": SECONDS or null, "victim": RANK or null}
        -> {"completed": BOOL, "seconds": TIME}     completed: every rank came back from its save
    {"writer": NAME, "load": FOLDER}
        -> what a loader prints: {"outcome": "loaded", "digest": ...}, {"outcome": "error", ...}, ...

The time until the kill starts when the last rank says that it begins to save. A victim is the one rank that is
killed; the others get a second to run into its absence and are then killed too. Without a victim all ranks are
killed at once, as when a machine is lost.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any, Callable, NamedTuple

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
from common import _load_in_child

# Whatever the frameworks print, from the first import on, must not mix with our lines.
ANSWERS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

SURVIVORS_SECONDS = 1.0
SAVE_SECONDS = 120.0


class Writer(NamedTuple):
    # Called in each forked rank with the folder; returns the save itself, so that only that is
    # timed.
    prepare: Callable[[str], Callable[[], None]]
    load: Callable[[str], Any]
    ranks: int = 1


class Rank(NamedTuple):
    pid: int
    pipe: int


def serve(writers: dict[str, Writer], before: Callable[[], None] = lambda: None) -> None:
    # A helper process that a framework starts afresh would import the module of writers all over
    # again.
    sys.modules["__main__"].__dict__.pop("__file__", None)
    before()
    gc.freeze()  # what is loaded stays: no rank looks through it again, which would also copy its pages
    print(json.dumps({"writers": list(writers)}), file=ANSWERS, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        writer = writers[request["writer"]]
        if "load" in request:
            answer: Any = _load_in_child(writer.load, request["load"])
        else:
            answer = save_and_kill(writer, request["save"], request["kill_after"], request["victim"])
        print(json.dumps(answer), file=ANSWERS, flush=True)


def save_and_kill(
    writer: Writer, folder: str, kill_after: float | None, victim: int | None
) -> dict[str, Any]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ranks = [start_rank(writer, folder, number, port) for number in range(writer.ranks)]
    try:
        for rank in ranks:
            if await_byte(rank, SAVE_SECONDS) != b"S":
                raise RuntimeError("a rank ended before its save")
        started = time.monotonic()
        if kill_after is not None:
            time.sleep(kill_after)
            for rank in ranks if victim is None else [ranks[victim]]:
                kill(rank)
        patience = SAVE_SECONDS if kill_after is None else 0.0 if victim is None else SURVIVORS_SECONDS
        deadline = time.monotonic() + patience
        completed = [await_byte(rank, max(0.0, deadline - time.monotonic())) == b"D" for rank in ranks]
        return {"completed": all(completed), "seconds": time.monotonic() - started}
    finally:
        for rank in ranks:
            kill(rank)
            os.waitpid(rank.pid, 0)
            os.close(rank.pipe)


def start_rank(writer: Writer, folder: str, number: int, port: int) -> Rank:
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        os.setpgid(0, 0)
        if writer.ranks > 1:
            os.environ.update(RANK=str(number), LOCAL_RANK=str(number), WORLD_SIZE=str(writer.ranks))
            os.environ.update(LOCAL_WORLD_SIZE=str(writer.ranks))
            os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        try:
            save = writer.prepare(folder)
            os.write(write_end, b"S")
            save()
            os.write(write_end, b"D")
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        finally:
            os._exit(0)
    os.close(write_end)
    return Rank(pid, read_end)


def kill(rank: Rank) -> None:
    """With whatever helper processes the framework has started."""
    try:
        os.killpg(rank.pid, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(rank.pid, signal.SIGKILL)  # it has not got as far as its own process group


def await_byte(rank: Rank, seconds: float) -> bytes:
    """The next byte from a rank; nothing when it ended or the time is over."""
    return os.read(rank.pipe, 1) if select.select([rank.pipe], [], [], seconds)[0] else b""
