"""Walks through a state that is to be saved. Each of its storages is copied on the device as soon as it is met, where there is room: the device
works while the host looks for the next."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, List, Optional

import torch

from ._device import Copy, bytes_of
from ._torch_image import Kept, Unsuited, meet

_ALIGNMENT = 512

Sources = List[Optional[torch.Tensor]]


class Walk:
    """What was met so far. The copies are made in the order of the training: what that does next comes after."""

    def __init__(self, device: Any, room: int) -> None:
        """``room``: what the copies of all of it will take, as far as one can tell beforehand."""
        self._device = device
        self._memory: Optional[torch.Tensor] = device.take(room)
        self.had_room = self._memory is not None
        """As far as one could tell beforehand."""
        self._at = 0
        self._sources: Sources = []
        self.found: Dict[int, Kept] = {}

    def add(self, state: Any) -> None:
        """A part of the state, of plain values. Raises Unsuited when it cannot be laid out, or has left the device."""
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
        """The bytes of everything: copies where they were made, else those that the training will change. Those on the host are copies in any case."""
        return list(self._sources)

    @property
    def is_copied(self) -> bool:
        """All of it is where nothing changes it any more."""
        return self._memory is not None

    def _copies(self, met: Iterator[Kept]) -> Iterator[Copy]:
        for kept in met:
            source = self._note(kept)
            if source is None or self._memory is None:
                continue
            end = self._at + source.numel()
            if end > self._memory.numel():
                # It has grown since one could tell.
                self._forget_copies()
                continue
            self._sources[-1] = copy = self._memory[self._at : end]
            self._at = padded(end)
            yield copy, source

    def _note(self, kept: Kept) -> Optional[torch.Tensor]:
        """The bytes of what lies on the device; None: it lies on the host, and nobody can tell when that changes it."""
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
    """A storage as a row of bytes; where one tensor has all of it, without asking the device for anything."""
    storage, tensor = kept.storage, kept.tensors[0]
    if tensor.dtype.is_complex or tensor.nbytes != storage.nbytes() or not tensor.is_contiguous():
        return bytes_of(storage)
    return (tensor.detach() if tensor.requires_grad else tensor).view(-1).view(torch.uint8)


def padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def room_for(sizes: Iterable[int]) -> int:
    return sum(padded(size) for size in sizes)
