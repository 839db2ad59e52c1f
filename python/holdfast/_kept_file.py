"""A file in memory that the device itself writes to. It is reused for every save, and handed over
as soon as it is complete."""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
import threading
import time
from pathlib import Path
from typing import Any, Iterator, List, Tuple

import torch

from ._device import Copy
from ._torch_image import Layout

PIECE_BYTES = 32 << 20
"""How much is locked at a time. Device work that comes meanwhile waits for at most one piece. No
copy may cross the border of two pieces."""
_PAUSE = 2
"""After each piece, the training gets this many times as long as the piece took."""

_numbers = itertools.count()
"""Numbers the files: a process may save several states."""


class Stopped(Exception):
    """The process ends before the file is ready."""


class KeptFile:
    """The file, mapped and locked. A save links it into its folder. Deleting that folder deletes
    only the link; the memory stays here.

    The file is never shorter than its locked part: the device writes to exactly these pages,
    whatever the file maps there.
    """

    def __init__(self, folder: Path, size: int, device: Any) -> None:
        self._path = folder / f"state-{next(_numbers)}"
        self._device = device
        self._locked: List[int] = []
        self._headers: Tuple[Tuple[int, bytes], ...] = ()
        self.size = size
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            for at, length in self._pieces():
                os.posix_fallocate(self._file, at, length)
            self._map = mmap.mmap(self._file, size)
            self.bytes = torch.frombuffer(self._map, dtype=torch.uint8)
            """The whole file, as the device writes to it."""
            for at, length in self._pieces():
                began = time.perf_counter()
                device.lock(self.bytes.data_ptr() + at, length)
                self._locked.append(self.bytes.data_ptr() + at)
                time.sleep(_PAUSE * (time.perf_counter() - began))
        except BaseException:
            self.close()
            raise

    @property
    def is_free(self) -> bool:
        """True when no save uses the file any more: its folder is gone, and only our own name is
        left."""
        here = os.fstat(self._file)
        try:
            return here.st_nlink == 1 and os.path.samestat(here, os.stat(self._path))
        except OSError:
            return False

    def begin(self, layout: Layout) -> None:
        """Writes the bytes between the tensors; they stay from save to save."""
        if layout.headers is self._headers:
            return
        for at, header in layout.headers:
            self._map[at : at + len(header)] = header
        self._headers = layout.headers

    def copies(self, offset: int, source: torch.Tensor) -> Iterator[Copy]:
        """The copies that bring these bytes to this place."""
        at, end = offset, offset + source.numel()
        while at < end:
            stop = min(end, (at // PIECE_BYTES + 1) * PIECE_BYTES)
            yield self.bytes[at:stop], source[at - offset : stop - offset]
            at = stop

    def end(self, layout: Layout, tail: bytes, path: Path, may_link: bool) -> bool:
        """Completes the file once all tensors have arrived: sets its end and puts it into the
        save's folder. Returns whether it was linked there; false when it was copied."""
        write_all(self._file, tail, layout.end)
        os.ftruncate(self._file, layout.end + len(tail))
        if may_link:
            # The folder may have been deleted meanwhile.
            with contextlib.suppress(OSError):
                os.link(self._path, path)
                return True
        _copy(self._file, path, layout.end + len(tail))
        return False

    def close(self) -> None:
        for address in self._locked:
            self._device.unlock(address)
        self._locked = []
        os.close(self._file)
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def _pieces(self) -> Iterator[Tuple[int, int]]:
        for at in range(0, self.size, PIECE_BYTES):
            if not threading.main_thread().is_alive():
                raise Stopped()
            yield at, min(PIECE_BYTES, self.size - at)


def write_all(file: int, data: Any, at: int) -> None:
    """Writes everything, even if each call writes only a part."""
    rest = memoryview(data).cast("B")
    while rest:
        count = os.pwrite(file, rest, at)
        rest, at = rest[count:], at + count


def _copy(source: int, path: Path, size: int) -> None:
    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        at = 0
        while at < size:
            count = os.sendfile(target, source, at, size - at)
            if count == 0:
                raise OSError(f"{path} got {at} of {size} bytes")
            at += count
    finally:
        os.close(target)
