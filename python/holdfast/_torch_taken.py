"""One state that was taken from a device, on its way to the file."""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import torch

from ._device import Copy
from ._kept_file import KeptFile, write_all
from ._torch_image import Layout, pickled

_BUFFER_BYTES = 64 << 20


class Torn(Exception):
    """A tensor was changed before it was copied."""


class Guard:
    """The tensors that one optimizer writes and that are still to be copied. The optimizer waits
    for them; any other write is detected."""

    def __init__(self, optimizer: Any, numbers: Sequence[int], tensors: Sequence[torch.Tensor]) -> None:
        self.optimizer = optimizer
        self.numbers = list(numbers)
        self.copied: Any = None
        self._versions = [(tensor, tensor._version) for tensor in tensors]
        self._is_queued = threading.Event()
        self._lock = threading.Lock()
        self._is_over = False
        self._is_torn = False

    def release(self) -> None:
        """The copy is queued, or there will be none: no one waits for this thread any more."""
        self._is_queued.set()

    def let_write(self, device: Any) -> None:
        """The optimizer is about to write."""
        self._is_queued.wait()
        if self._close() and self.copied is not None:
            device.hold(self.copied)

    def settle(self) -> None:
        """Everything is copied. Raises Torn if a tensor was changed before its optimizer came
        by."""
        self._close()
        if self._is_torn:
            raise Torn("a tensor was changed in place by something else than the step of its optimizer before it was copied")

    def _close(self) -> bool:
        with self._lock:
            if self._is_over:
                return False
            self._is_over = True
            self._is_torn = any(tensor._version != version for tensor, version in self._versions)
            return True


class Place(NamedTuple):
    """Where the bytes go: into the file in memory, or without one into a new file."""

    layout: Layout
    file: Optional[KeptFile]


class Content(NamedTuple):
    """A state of plain values, its storages by number, and their bytes. Each source is safe from
    changes or behind a guard; None if its bytes have already arrived."""

    state: Any
    numbers: Dict[int, int]
    sources: List[Optional[torch.Tensor]]


class Taken:
    """A state that was taken, and how it becomes a file."""

    def __init__(self, device: Any, place: Callable[[], Place], content: Content, guards: List[Guard]) -> None:
        """``place`` is called when a folder is given for the save; by then the previous save has
        released the memory."""
        self._device = device
        self._place = place
        self._layout, self._file = Place(Layout([]), None)
        self._content: Optional[Content] = content
        self._guards = guards
        self._start = device.fork()
        # The event after which everything queued so far has arrived.
        self._queued: List[Any] = []
        self.is_torn = False
        """True when a tensor was changed before it was copied, and the save was given up for it."""
        self.is_linked = False
        """True when the file in memory itself was handed over."""

    @property
    def is_linkable(self) -> bool:
        """True when it goes through the file in memory, which no other save uses."""
        return self._file is not None

    def begin(self) -> None:
        """Starts the copies out of the device, before there is a folder; called on the delivering
        thread. Does nothing while an earlier save has the memory."""
        self._device.work_beside()
        content = self._content
        if content is None:
            raise RuntimeError("it was delivered before")
        self._layout, self._file = self._place()
        if not self._guards:
            # No one waits for this thread, so leave this moment to the training.
            self._device.wait(self._start)
        if self._file is not None:
            self._leave(content, self._file)

    def _leave(self, content: Content, file: KeptFile) -> None:
        """Queues the copies into the file in memory, first the tensors that an optimizer waits
        for."""
        for guard in self._guards:
            guard.copied = self._queue(file, content, guard.numbers)
            guard.release()
        guarded = {number for guard in self._guards for number in guard.numbers}
        others = [number for number in range(len(content.sources)) if number not in guarded]
        self._queue(file, content, others[: len(others) // 2])
        self._queue(file, content, others[len(others) // 2 :])

    def cancel(self) -> None:
        """Gives up the delivery; no one waits for it any more."""
        self._content = None
        for guard in self._guards:
            guard.release()
        self._device.wait(self._start)
        self._wait()

    def before_step(self, optimizer: Any) -> None:
        for guard in self._guards:
            if guard.optimizer is optimizer:
                guard.let_write(self._device)

    def deliver(self, path: Path, may_link: bool) -> None:
        """Delivers the bytes to the file at this path, on any thread. Returns when all of them are
        there. Call it once.

        Link the file in memory only to a place that is released before the file is written again.
        """
        content, self._content = self._content, None
        try:
            if content is None:
                raise RuntimeError("it was delivered before")
            if self._file is None:
                self._layout, self._file = self._place()
                if self._file is not None:
                    self._leave(content, self._file)
            if self._file is None:
                self._write(path, content)
            else:
                tail = self._land(content, self._file)
                self.is_linked = self._file.end(self._layout, tail, path, may_link)
        except Torn:
            self.is_torn = True
            raise
        finally:
            for guard in self._guards:
                guard.release()

    def _land(self, content: Content, file: KeptFile) -> bytes:
        """Returns when the bytes of all tensors have arrived in the file in memory, with its
        end."""
        last = self._queued.pop()
        # Until then the training thread gives the device its next work, and must not wait for this
        # thread.
        self._wait()
        file.begin(self._layout)
        tail = self._layout.tail(pickled(content.state, content.numbers))
        self._device.wait(last)
        for guard in self._guards:
            guard.settle()
        return tail

    def _queue(self, file: KeptFile, content: Content, numbers: Sequence[int]) -> Any:
        copies: List[Copy] = []
        for number in numbers:
            source = content.sources[number]
            if source is not None:
                copies.extend(file.copies(self._layout.offsets[number], source))
        event = self._device.copy_beside(self._start, copies)
        self._queued.append(event)
        return event

    def _wait(self) -> None:
        while self._queued:
            self._device.wait(self._queued.pop())

    def _write(self, path: Path, content: Content) -> None:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            for at, header in self._layout.headers:
                write_all(file, header, at)
            self._write_sources(file, content)
            write_all(file, self._layout.tail(pickled(content.state, content.numbers)), self._layout.end)
        finally:
            os.close(file)

    def _write_sources(self, file: int, content: Content) -> None:
        """Uses two buffers: while one is written, the device fills the other."""
        buffers = [self._buffer(), self._buffer()]
        before: Optional[_Filled] = None
        for turn, (source, at) in enumerate(self._pieces(content)):
            part = buffers[turn % 2][: source.numel()]
            filled = _Filled(self._device.copy_beside(self._start, [(part, source)]), part, at)
            self._write_buffer(file, before)
            before = filled
        self._write_buffer(file, before)

    def _write_buffer(self, file: int, filled: Optional[_Filled]) -> None:
        if filled is not None:
            self._device.wait(filled.event)
            write_all(file, (ctypes.c_ubyte * filled.part.numel()).from_address(filled.part.data_ptr()), filled.at)

    def _pieces(self, content: Content) -> Iterator[Tuple[torch.Tensor, int]]:
        for source, offset in zip(content.sources, self._layout.offsets):
            if source is not None:
                for at in range(0, source.numel(), _BUFFER_BYTES):
                    yield source[at : at + _BUFFER_BYTES], offset + at

    def _buffer(self) -> torch.Tensor:
        try:
            return self._device.locked(_BUFFER_BYTES)
        except RuntimeError:
            # This is slower, but training continues.
            return torch.empty(_BUFFER_BYTES, dtype=torch.uint8)


class _Filled(NamedTuple):
    event: Any
    part: torch.Tensor
    at: int
