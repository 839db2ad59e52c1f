"""The step counter of this rank, in a small file that the supervisor reads after the trainer's end."""

from __future__ import annotations

import logging
import mmap
from typing import MutableSequence, Optional

log = logging.getLogger("holdfast")


def no_counter() -> MutableSequence[int]:
    """A counter that no process reads."""
    return [-1]


def open_counter(path: Optional[str]) -> MutableSequence[int]:
    """Maps the counter into memory: writing its only element is all that a step costs.

    The file keeps the newest step when the process is killed. Without a file, or with one that
    cannot be mapped, a counter that no process reads takes its place.
    """
    if not path:
        return no_counter()
    try:
        with open(path, "r+b") as file:
            return memoryview(mmap.mmap(file.fileno(), 8)).cast("q")
    except (OSError, ValueError) as error:
        log.debug("the step counter cannot be mapped: %s", error)
        return no_counter()
