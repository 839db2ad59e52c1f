"""Prints the stacks of all threads on request, so that a hang shows where it hangs."""

from __future__ import annotations

import faulthandler
import signal
import sys
from typing import FrozenSet, Iterator, Optional

_STDERR = 2
"""The original ``sys.stderr``: a replacement may have no file, and a handler must not run
Python."""


_registered: Optional[int] = None


def register() -> Optional[int]:
    """Registers a free signal, once. Returns its number; None when none is free.

    The handler is C code. It also works while the trainer is stuck in a library, and it interrupts
    no system call.
    """
    global _registered
    if _registered is None:
        _registered = next((number for number in _candidates() if _is_ours(number)), None)
    return _registered


def _is_ours(number: int) -> bool:
    try:
        if signal.getsignal(number) is not signal.SIG_DFL or number in _caught():
            return False
        faulthandler.register(number, file=_STDERR, all_threads=True, chain=False)
    except (AttributeError, OSError, RuntimeError, ValueError):
        return False
    return True


def _caught() -> FrozenSet[int]:
    """Signals that already have a handler, even one that Python does not know; none when the system
    does not list them."""
    try:
        with open("/proc/self/status", "rb") as status:
            lines = status.read().split(b"\n")
        mask = next((int(line[7:], 16) for line in lines if line.startswith(b"SigCgt:")), 0)
    except (OSError, ValueError):
        return frozenset()
    return frozenset(number for number in range(1, 65) if mask >> (number - 1) & 1)


def _candidates() -> Iterator[int]:
    """Real-time signals first: nothing sends them by chance, while frameworks and schedulers use
    the others."""
    if sys.platform == "linux":
        yield from range(signal.SIGRTMIN + 14, signal.SIGRTMIN + 20)
    yield signal.SIGUSR2
