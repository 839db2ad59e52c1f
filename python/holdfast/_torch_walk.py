"""Walks through a state that is to be saved. If the device has room, it copies each storage as soon
as the walk finds it. So the device works while the host looks for the next one."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, List, Optional

import torch

from ._device import Copy, bytes_of
from ._torch_image import Kept, Unsuited, meet

_ALIGNMENT = 512

Sources = List[Optional[torch.Tensor]]


class Walk:
    """The storages found so far. Copies are made in the order of the training: its next operations
    come after them."""

    def __init__(self, device: Any, room: int) -> None:
        """``room`` is the predicted size of all copies."""
        self._device = device
        self._memory: Optional[torch.Tensor] = device.take(room)
        self.had_room = self._memory is not None
        """Whether there was room, as far as it could be predicted."""
        self._at = 0
        self._sources: Sources = []
        self.found: Dict[int, Kept] = {}

    def add(self, state: Any) -> None:
        """Adds a part of the state, of plain values. Raises Unsuited when it cannot be laid out, or
        has left the device."""
        if self._memory is None:
            for kept in meet(state, self.found):
                self._note(kept)
            return
        try:
            self._device.copy_now(self._copies(meet(state, self.found)))
        except BaseException:
            self._forget_copies()
            raise

    def sources(self) -> Sources:
        """The bytes of every storage: the copies if they were made, otherwise the originals, which
        training will change. Bytes on the host are always copies."""
        return list(self._sources)

    @property
    def is_copied(self) -> bool:
        """True when no source can change any more."""
        return self._memory is not None

    def _copies(self, met: Iterator[Kept]) -> Iterator[Copy]:
        for kept in met:
            source = self._note(kept)
            if source is None or self._memory is None:
                continue
            end = self._at + source.numel()
            if end > self._memory.numel():
                # The state has grown since the prediction.
                self._forget_copies()
                continue
            self._sources[-1] = copy = self._memory[self._at : end]
            self._at = padded(end)
            yield copy, source

    def _note(self, kept: Kept) -> Optional[torch.Tensor]:
        """The bytes on the device. None for a storage on the host, where changes cannot be
        predicted."""
        source = _bytes_of(kept)
        if self._device.holds(kept.storage):
            self._sources.append(source)
            return source
        if kept.storage.device.type != "cpu":
            raise Unsuited(f"a part of it has moved to {kept.storage.device}")
        self._sources.append(source.clone())
        return None

    def _forget_copies(self) -> None:
        if self._memory is not None:
            self._device.let_go(self._memory)
        self._memory = None
        for number, kept in zip(range(len(self._sources)), self.found.values()):
            if self._device.holds(kept.storage):
                self._sources[number] = _bytes_of(kept)


def _bytes_of(kept: Kept) -> torch.Tensor:
    """A storage as a row of bytes; if one tensor covers all of it, without a call to the device."""
    storage, tensor = kept.storage, kept.tensors[0]
    if tensor.dtype.is_complex or tensor.nbytes != storage.nbytes() or not tensor.is_contiguous():
        return bytes_of(storage)
    return (tensor.detach() if tensor.requires_grad else tensor).view(-1).view(torch.uint8)


def padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def room_for(sizes: Iterable[int]) -> int:
    return sum(padded(size) for size in sizes)
