"""The device that holds the state, as far as copying out of it goes: its streams, its events, and memory of the host that it can write to."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any, Iterable, Iterator, List, Optional, Sequence, Tuple

import torch

from ._torch_image import kept_in

Copy = Tuple[torch.Tensor, torch.Tensor]
"""Where to, and where from; bytes both."""

_RELAXED = 2
"""``cudaStreamCaptureModeRelaxed``."""
_MOST_AT_ONCE = 32
"""Giving the order for a copy takes about as long as copying 30 MB, and so several get one together."""
_LEAST_FREE = 1 << 30
"""Of the device's memory so much, or a twentieth, is left to the training."""

class Cuda:
    """One CUDA device. What is copied is copied on a stream of its own, beside the training."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._side = torch.cuda.Stream(device)
        self._had = 0

    def work_beside(self) -> None:
        """On a thread of ours, first of all: what it asks of the device must not spoil a graph that the training is capturing."""
        with contextlib.suppress(Exception):
            runtime = ctypes.CDLL(f"libcudart.so.{str(torch.version.cuda).split('.')[0]}")
            runtime.cudaThreadExchangeStreamCaptureMode(ctypes.byref(ctypes.c_int(_RELAXED)))

    def is_capturing(self) -> bool:
        """Whether this thread captures a graph."""
        return torch.cuda.is_current_stream_capturing()

    def holds(self, storage: torch.UntypedStorage) -> bool:
        return storage.device == self._device

    def take(self, size: int) -> Optional[torch.Tensor]:
        """Memory of the device; None when the training would miss it. Let go it stays with torch, which gives it to whoever needs it more."""
        if not self._has_room(size):
            return None
        try:
            # Of the side stream's own: the training never finds a hole in its memory where this was.
            with torch.cuda.stream(self._side):
                memory = bytes_of(torch.UntypedStorage(size, device=self._device))
        except torch.cuda.OutOfMemoryError:
            self._had = 0
            return None
        self._had = size
        return memory

    def _has_room(self, size: int) -> bool:
        free, total = torch.cuda.mem_get_info(self._device)
        if free - max(_LEAST_FREE, total // 20) >= size:
            return True
        # What the last one had may still be with torch.
        return size <= self._had and size <= torch.cuda.memory_reserved(self._device) - torch.cuda.memory_allocated(self._device)

    def copy_now(self, copies: Iterable[Copy]) -> None:
        """In the order of the training: what it does next comes after."""
        # Where the memory comes from, all that was done with it is done.
        torch.cuda.current_stream(self._device).wait_stream(self._side)
        for some in _batches(copies):
            copy_all(some)

    def let_go(self, memory: torch.Tensor) -> None:
        """What was copied into it a moment ago is not wanted: nobody gets it before that is over."""
        memory.record_stream(torch.cuda.current_stream(self._device))

    def fork(self) -> Any:
        """What the training has done so far."""
        event = torch.cuda.Event(blocking=True)
        event.record(torch.cuda.current_stream(self._device))
        return event

    def copy_beside(self, after: Any, copies: Iterable[Copy]) -> Any:
        """Beside the training, once that has come so far; returns what to wait for."""
        event = torch.cuda.Event(blocking=True)
        # The thread may be one that has used no device yet.
        with torch.cuda.device(self._device), torch.cuda.stream(self._side):
            self._side.wait_event(after)
            for to, source in copies:
                to.copy_(source, non_blocking=True)
            event.record(self._side)
        return event

    def hold(self, event: Any) -> None:
        """What the training does next comes after the event; only the device waits."""
        torch.cuda.current_stream(self._device).wait_event(event)

    def wait(self, event: Any) -> None:
        """Returns when it has come."""
        event.synchronize()

    def lock(self, address: int, size: int) -> None:
        """Lets the device write to memory of this process; raises RuntimeError when it may not."""
        with torch.cuda.device(self._device):
            problem = torch.cuda.cudart().cudaHostRegister(address, size, 1)
        # Two versions of the same answer.
        if int(getattr(problem, "value", problem)) != 0:
            raise RuntimeError(f"the memory could not be locked: CUDA error {problem}")

    def unlock(self, address: int) -> None:
        torch.cuda.cudart().cudaHostUnregister(address)

    def locked(self, size: int) -> torch.Tensor:
        """New memory of the host that the device can write to; raises RuntimeError when there is none."""
        return torch.empty(size, dtype=torch.uint8, pin_memory=True)


def _batches(copies: Iterable[Copy]) -> Iterator[List[Copy]]:
    """The first alone, so that the device has work at once, and then more and more of them together."""
    waiting: List[Copy] = []
    count = 1
    for copy in copies:
        waiting.append(copy)
        if len(waiting) == count:
            yield waiting
            waiting, count = [], min(2 * count, _MOST_AT_ONCE)
    yield waiting


def copy_all(copies: Sequence[Copy]) -> None:
    """Copies bytes to bytes, with few orders to the device."""
    together = getattr(torch, "_foreach_copy_", None)
    if together is None:
        for to, source in copies:
            to.copy_(source, non_blocking=True)
        return
    wide: List[Copy] = []
    narrow: List[Copy] = []
    for to, source in copies:
        if (source.numel() | source.data_ptr() | to.data_ptr()) % 4 == 0:
            # Four bytes at a time: one by one takes twice as long.
            wide.append((to.view(torch.int32), source.view(torch.int32)))
        else:
            narrow.append((to, source))
    for some in (wide, narrow):
        if some:
            together([to for to, _ in some], [source for _, source in some], non_blocking=True)


def device_of(state: Any) -> Optional[Cuda]:
    """The CUDA device on which all of a state lies that does not lie on the host; None: there is none, or there are several."""
    devices = {kept.storage.device for kept in kept_in(state).values() if kept.storage.device.type != "cpu"}
    if len(devices) != 1 or next(iter(devices)).type != "cuda":
        return None
    return Cuda(devices.pop())


def bytes_of(storage: torch.UntypedStorage) -> torch.Tensor:
    """A storage as a row of bytes."""
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
