"""The order of the batches of one epoch, with a seed for each batch.

A batch's random numbers (augmentation) depend only on its number in the epoch. The worker, the
number of workers and the earlier batches do not matter. So a resumed run can skip trained batches
without reading them.
"""

from __future__ import annotations

from typing import Any, Iterator, List, NamedTuple

import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
    get_worker_info,
)

from ._torch_random import Stream, mix, seed_all

_DRAW_AT_THE_START = (SequentialSampler, RandomSampler, SubsetRandomSampler, WeightedRandomSampler, DistributedSampler)
"""Samplers that draw from the global generators only before their first index."""
_OPTIONS = ("num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn", "multiprocessing_context", "prefetch_factor")
_NEWER_OPTIONS = ("persistent_workers", "pin_memory_device", "in_order")


class _Indices(List[Any]):
    """The indices of one batch, on their way to the fetching worker."""

    seed = 0


class _Index(NamedTuple):
    seed: int
    index: Any


class Order:
    """Wraps the user's sampler: the same indices, a seed for each batch, and the first batches left
    out."""

    def __init__(self, sampler: Any, is_batched: bool) -> None:
        self._sampler = sampler
        self._is_batched = is_batched
        self._seed = 0
        self._skip = 0

    def begin(self, seed: int, skip: int) -> None:
        """Sets the epoch's seed, and how many batches the next iteration leaves out."""
        self._seed, self._skip = seed, skip

    def __len__(self) -> int:
        return len(self._sampler)

    def __iter__(self) -> Iterator[Any]:
        return self._run(self._seed, self._skip)

    def _run(self, seed: int, skip: int) -> Iterator[Any]:
        stream = Stream(mix(seed, 1))
        draws_late = not _draws_at_the_start(self._sampler)
        with stream:
            source = iter(self._sampler)
        number = 0
        while True:
            try:
                if number == 0 or draws_late:
                    with stream:
                        indices = next(source)
                else:
                    indices = next(source)
            except StopIteration:
                return
            if number >= skip:
                yield self._seeded(mix(seed, 2, number), indices)
            number += 1

    def _seeded(self, seed: int, indices: Any) -> Any:
        if not self._is_batched:
            return _Index(seed, indices)
        batch = _Indices(indices)
        batch.seed = seed
        return batch


def _draws_at_the_start(sampler: Any) -> bool:
    inner = sampler.sampler if type(sampler) is BatchSampler else sampler
    return type(inner) in _DRAW_AT_THE_START


class SeededDataset(Dataset):  # type: ignore[type-arg]
    """The user's dataset, fetched with the seed of the batch."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def __len__(self) -> int:
        return len(self._dataset)

    def __getattr__(self, name: str) -> Any:
        if name == "_dataset":
            raise AttributeError(name)
        return getattr(self._dataset, name)

    def __getitems__(self, batch: _Indices) -> List[Any]:
        fetch = getattr(self._dataset, "__getitems__", None)
        indices = list(batch)
        return _with_seed(batch.seed, lambda: fetch(indices) if fetch else [self._dataset[index] for index in indices])

    def __getitem__(self, item: _Index) -> Any:
        return _with_seed(item.seed, lambda: self._dataset[item.index])


def _with_seed(seed: int, fetch: Any) -> Any:
    if get_worker_info() is None:
        with Stream(seed):
            return fetch()
    # A worker draws for nothing else. What the collating draws afterwards belongs to the batch too.
    seed_all(seed)
    return fetch()


def seeded_loader(loader: DataLoader[Any]) -> "tuple[DataLoader[Any], Order, torch.Generator]":
    """A loader of the same batches in the same workers, over an order that can start in the
    middle."""
    is_batched = loader.batch_sampler is not None
    order = Order(loader.batch_sampler if is_batched else loader.sampler, is_batched)
    names = [name for name in (*_OPTIONS, *_NEWER_OPTIONS) if hasattr(loader, name)]
    options = {name: getattr(loader, name) for name in names}
    # The workers' seeds come from here, so that starting workers draws nothing from the trainer's
    # own numbers.
    generator = torch.Generator()
    where = {"batch_sampler": order} if is_batched else {"sampler": order, "batch_size": None}
    return DataLoader(SeededDataset(loader.dataset), generator=generator, **where, **options), order, generator  # type: ignore[arg-type]
