"""Copies state out of the device: its streams, its events, and host memory that it can write to."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any, Iterable, Iterator, List, Optional, Sequence, Tuple

import torch

from ._torch_image import kept_in

Copy = Tuple[torch.Tensor, torch.Tensor]
"""The target and the source of a copy, both as bytes."""

_RELAXED = 2
"""``cudaStreamCaptureModeRelaxed``."""
_MOST_AT_ONCE = 32
"""Most copies per launch. One launch takes as long as copying about 30 MB, so several copies share
one."""
_LEAST_FREE = 1 << 30
"""The least device memory that stays free for the training; a twentieth of the device if that is
more."""

class Cuda:
    """One CUDA device. It copies on a stream of its own, beside the training."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._side = torch.cuda.Stream(device)
        self._had = 0

    def work_beside(self) -> None:
        """Call it first on a thread of ours: the thread's device calls must not spoil a graph that
        the training captures."""
        with contextlib.suppress(Exception):
            runtime = ctypes.CDLL(f"libcudart.so.{str(torch.version.cuda).split('.')[0]}")
            runtime.cudaThreadExchangeStreamCaptureMode(ctypes.byref(ctypes.c_int(_RELAXED)))

    def is_capturing(self) -> bool:
        """Whether this thread is capturing a graph."""
        return torch.cuda.is_current_stream_capturing()

    def holds(self, storage: torch.UntypedStorage) -> bool:
        return storage.device == self._device

    def take(self, size: int) -> Optional[torch.Tensor]:
        """Memory of the device; None when the training would miss it. Once released it stays with
        torch, which reuses it where it is needed more."""
        if not self._has_room(size):
            return None
        try:
            # From the side stream's own pool, so that it leaves no hole in the training's memory.
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
        # Torch may still hold the memory of the last copy.
        return size <= self._had and size <= torch.cuda.memory_reserved(self._device) - torch.cuda.memory_allocated(self._device)

    def copy_now(self, copies: Iterable[Copy]) -> None:
        """Copies in the order of the training: its next operations come after the copies."""
        # Wait until the side stream has finished with this memory.
        torch.cuda.current_stream(self._device).wait_stream(self._side)
        for some in _batches(copies):
            copy_all(some)

    def let_go(self, memory: torch.Tensor) -> None:
        """Releases memory whose copy is no longer wanted; it is reused only when the copy is
        over."""
        memory.record_stream(torch.cuda.current_stream(self._device))

    def fork(self) -> Any:
        """An event that marks what the training has done so far."""
        event = torch.cuda.Event(blocking=True)
        event.record(torch.cuda.current_stream(self._device))
        return event

    def copy_beside(self, after: Any, copies: Iterable[Copy]) -> Any:
        """Copies beside the training, once it has reached ``after``; returns the event to wait
        for."""
        event = torch.cuda.Event(blocking=True)
        # This thread may not have used a device before.
        with torch.cuda.device(self._device), torch.cuda.stream(self._side):
            self._side.wait_event(after)
            for to, source in copies:
                to.copy_(source, non_blocking=True)
            event.record(self._side)
        return event

    def hold(self, event: Any) -> None:
        """Makes the training's next operations wait for the event; only the device waits."""
        torch.cuda.current_stream(self._device).wait_event(event)

    def wait(self, event: Any) -> None:
        """Returns when the event has come."""
        event.synchronize()

    def lock(self, address: int, size: int) -> None:
        """Lets the device write to memory of this process; raises RuntimeError when it may not."""
        with torch.cuda.device(self._device):
            problem = torch.cuda.cudart().cudaHostRegister(address, size, 1)
        # Versions of torch return either an enum or a number.
        if int(getattr(problem, "value", problem)) != 0:
            raise RuntimeError(f"the memory could not be locked: CUDA error {problem}")

    def unlock(self, address: int) -> None:
        torch.cuda.cudart().cudaHostUnregister(address)

    def locked(self, size: int) -> torch.Tensor:
        """New host memory that the device can write to; raises RuntimeError when there is none."""
        return torch.empty(size, dtype=torch.uint8, pin_memory=True)


def _batches(copies: Iterable[Copy]) -> Iterator[List[Copy]]:
    """Yields the first copy alone, so that the device has work at once, then growing batches."""
    waiting: List[Copy] = []
    count = 1
    for copy in copies:
        waiting.append(copy)
        if len(waiting) == count:
            yield waiting
            waiting, count = [], min(2 * count, _MOST_AT_ONCE)
    yield waiting


def copy_all(copies: Sequence[Copy]) -> None:
    """Copies bytes to bytes with few launches."""
    together = getattr(torch, "_foreach_copy_", None)
    if together is None:
        for to, source in copies:
            to.copy_(source, non_blocking=True)
        return
    wide: List[Copy] = []
    narrow: List[Copy] = []
    for to, source in copies:
        if (source.numel() | source.data_ptr() | to.data_ptr()) % 4 == 0:
            # Copy four bytes at a time: single bytes take twice as long.
            wide.append((to.view(torch.int32), source.view(torch.int32)))
        else:
            narrow.append((to, source))
    for some in (wide, narrow):
        if some:
            together([to for to, _ in some], [source for _, source in some], non_blocking=True)


def device_of(state: Any) -> Optional[Cuda]:
    """The CUDA device that holds all of a state except its parts on the host; None when there is
    none, or several."""
    devices = {kept.storage.device for kept in kept_in(state).values() if kept.storage.device.type != "cpu"}
    if len(devices) != 1 or next(iter(devices)).type != "cuda":
        return None
    return Cuda(devices.pop())


def bytes_of(storage: torch.UntypedStorage) -> torch.Tensor:
    """The bytes of a storage as a tensor."""
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
