"""Runs a function on several ranks of one process group by forking, for checkpoints that only their full world can load.

The parent must not have started threads of torch; the import of the framework is paid once for all ranks.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import select
import signal
import socket
from typing import Any, Callable

PR_SET_PDEATHSIG = 1


def run_ranks(ranks: int, work: Callable[[], Any]) -> list[Any]:
    """The results of work() on each rank; the first rank to fail ends the others and its error is raised here."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    children: dict[int, tuple[int, int]] = {}  # pipe -> (pid, rank)
    for rank in range(ranks):
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            ctypes.CDLL(None).prctl(
                PR_SET_PDEATHSIG, signal.SIGKILL
            )  # no rank outlives a load that was killed
            os.close(read_end)
            os.environ.update(
                RANK=str(rank),
                LOCAL_RANK=str(rank),
                WORLD_SIZE=str(ranks),
                LOCAL_WORLD_SIZE=str(ranks),
                MASTER_ADDR="127.0.0.1",
                MASTER_PORT=str(port),
            )
            _answer(write_end, work)
        os.close(write_end)
        children[read_end] = (pid, rank)
    results: list[Any] = [None] * ranks
    try:
        while children:
            for pipe in select.select(list(children), [], [])[0]:
                with os.fdopen(pipe, "rb") as stream:
                    reply = stream.read()
                pid, rank = children.pop(pipe)
                os.waitpid(pid, 0)
                if not reply:
                    raise RuntimeError(f"rank {rank} died")
                ok, value = pickle.loads(reply)
                if not ok:
                    raise RuntimeError(value)
                results[rank] = value
    finally:
        for pid, _ in children.values():
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    return results


def _answer(pipe: int, work: Callable[[], Any]) -> None:
    try:
        reply = (True, work())
    except BaseException as error:  # torch's CheckpointException is no Exception
        reply = (False, f"{type(error).__name__}: {error}")
    with os.fdopen(pipe, "wb") as stream:
        stream.write(pickle.dumps(reply))
    os._exit(0)
