"""A data loader that knows its place and can resume there."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Iterator, List, Optional, Union

import torch
from torch.utils.data import DataLoader, IterableDataset

from ._torch_order import seeded_loader
from ._torch_random import Stream, mix


class Batches:
    """The batches of a loader, epoch by epoch.

    Each iteration is one epoch, as with the loader itself. The first iteration after
    :meth:`load_state_dict` resumes in the middle of its epoch. The shuffling is the same, and so
    are the random numbers of every batch, whatever the number of workers.

    A ``torch.utils.data.DataLoader`` over a map-style dataset skips trained batches without reading
    them. Any other loader is iterated from the start of the epoch, and the trained batches are read
    again and discarded.
    """

    def __init__(self, loader: Iterable[Any]) -> None:
        self._source = _source_of(loader)
        self._seed: Optional[int] = None
        self._is_fresh = True
        self._is_loaded = False
        # The random states at the start of this epoch.
        self._generators: List[torch.Tensor] = []
        self.epoch = 0
        """The current epoch, from 0."""
        self.position = 0
        """The number of batches handed out in this epoch."""

    def __len__(self) -> int:
        return len(self._source)

    def __iter__(self) -> Iterator[Any]:
        # Start only when the first batch is requested: an unused iterator is not an epoch.
        self._begin()
        seed = self._seed if self._seed is not None else 0
        for batch in self._source.open(mix(seed, self.epoch), self.epoch, self.position):
            self.position += 1
            yield batch

    def forever(self) -> Iterator[Any]:
        """The batches of this epoch, the next one, and so on without end."""
        while True:
            before = self.position if self._is_loaded else 0
            yield from self
            if self.position == 0 and before == 0:
                raise ValueError("the loader has no batches")

    def state_dict(self) -> Dict[str, Any]:
        place = {"seed": self._seed, "epoch": self.epoch, "position": self.position}
        return {**place, "generators": list(self._generators), "generators_now": self._source.generators()}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        self._seed = state["seed"]
        self.epoch = int(state["epoch"])
        self.position = int(state["position"])
        self._generators = list(state["generators"])
        self._source.put_generators(state["generators_now"])
        # A state from before the first batch means a fresh start.
        self._is_loaded = self._seed is not None

    def leave(self) -> None:
        """Makes the next iteration the next epoch, even if the current one was loaded and could be
        resumed."""
        self._is_loaded = self._is_fresh = False

    def _begin(self) -> None:
        if self._seed is None:
            self._seed = int(torch.empty((), dtype=torch.int64).random_().item())
        if self._is_loaded:
            self._source.put_generators(self._generators)
        else:
            self.epoch += 0 if self._is_fresh else 1
            self.position = 0
            self._generators = self._source.generators()
        self._is_fresh = self._is_loaded = False


class Source:
    """The source of the batches. When an epoch is opened again, its generators are set back to the
    start of that epoch."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __len__(self) -> int:
        return len(self._loader)

    def open(self, seed: int, epoch: int, skip: int) -> Iterator[Any]:
        """The batches of an epoch without the first ones."""
        set_epoch(self._loader, epoch)
        stream = Stream(mix(seed, 1))
        with stream:
            batches = iter(self._skipping(epoch, skip))
        return self._run(batches, stream, 0 if self._skips else skip)

    def generators(self) -> List[torch.Tensor]:
        return [generator.get_state() for generator in self._own_generators()]

    def put_generators(self, states: List[torch.Tensor]) -> None:
        for generator, state in zip(self._own_generators(), states):
            generator.set_state(state)

    _skips = False
    """Whether :meth:`_skipping` leaves out the first batches without reading them."""

    def _skipping(self, epoch: int, skip: int) -> Iterable[Any]:
        del epoch, skip
        return self._loader  # type: ignore[no-any-return]

    def _run(self, batches: Iterator[Any], stream: Stream, skip: int) -> Iterator[Any]:
        while True:
            try:
                with stream:
                    batch = next(batches)
            except StopIteration:
                return
            if skip > 0:
                skip -= 1
            else:
                yield batch

    def _own_generators(self) -> List[torch.Generator]:
        loader = self._loader
        sampler, batch_sampler = getattr(loader, "sampler", None), getattr(loader, "batch_sampler", None)
        owners = [loader, sampler, batch_sampler, getattr(batch_sampler, "sampler", None)]
        found = [getattr(owner, "generator", None) for owner in owners]
        found.append(getattr(loader, "synchronized_generator", None))
        unique = {id(one): one for one in found if isinstance(one, torch.Generator)}
        return list(unique.values())


class _SeededSource(Source):
    """A plain loader over a map-style dataset: every batch has its own seed, and skipping reads
    nothing."""

    def __init__(self, loader: "DataLoader[Any]") -> None:
        super().__init__(loader)
        self._seeded, self._order, self._generator = seeded_loader(loader)

    def open(self, seed: int, epoch: int, skip: int) -> Iterator[Any]:
        set_epoch(self._loader, epoch)
        self._order.begin(seed, skip)
        self._generator.manual_seed(mix(seed, 3))
        return iter(self._seeded)


def set_epoch(loader: Any, epoch: int) -> None:
    """Tells a distributed sampler the number of the epoch, by which it shuffles."""
    sampler, batch_sampler = getattr(loader, "sampler", None), getattr(loader, "batch_sampler", None)
    for part in (loader, sampler, batch_sampler, getattr(batch_sampler, "sampler", None)):
        tell = getattr(part, "set_epoch", None)
        if callable(tell):
            tell(epoch)


def _source_of(loader: Union[Source, Iterable[Any]]) -> Source:
    if isinstance(loader, Source):
        return loader
    if type(loader) is DataLoader and not isinstance(loader.dataset, IterableDataset):
        return _SeededSource(loader)
    return Source(loader)
