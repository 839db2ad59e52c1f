"""Everything that a training loop in plain PyTorch has to keep, in one object.

    state = holdfast.torch.State(model=model, optimizer=optimizer, loader=loader)
    run = holdfast.attach()
    start = run.resume(state.load)
    batches = state.batches()                    # goes on in the middle of an epoch
    for step in range(start, total):
        loss = train(next(batches))
        if run.step(step, loss=loss):
            with run.save(step) as folder:
                state.save(folder)
    run.finish()

An interrupted run ends with the numbers of one that never was, bit for bit where the operations themselves are reproducible: the random
numbers of Python, NumPy and torch (CPU and CUDA) and the place in the data are kept too, for each rank its own.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, Optional

import torch

from . import _torch_random
from ._torch_batches import Batches
from ._torch_file import load, plain, save, without_crc
from ._torch_place import place

__all__ = ["Batches", "State", "load", "save", "without_crc"]

log = logging.getLogger("holdfast")

_SHARED = "state.pt"


class State:
    """Model, optimizer and whatever else has ``state_dict`` and ``load_state_dict``, the place in the data, and the random numbers.

    The first rank writes the parts, which all ranks hold alike (as data-parallel training does), into ``state.pt``; every rank writes its own
    random numbers and place in the data into ``rank-N.pt``. Sharded models are for :mod:`holdfast.dcp`.
    """

    def __init__(self, *, loader: Optional[Iterable[Any]] = None, **parts: Any) -> None:
        for name, part in parts.items():
            if not callable(getattr(part, "state_dict", None)) or not callable(getattr(part, "load_state_dict", None)):
                raise TypeError(f"{name}, a {type(part).__name__}, has no state_dict and load_state_dict, and so nothing to be saved or loaded")
        self._parts: Dict[str, Any] = {name: _without_wrapper(part) for name, part in parts.items()}
        self.loader = loader if loader is None or isinstance(loader, Batches) else Batches(loader)
        """The loader, as :class:`Batches`: iterate over this one, one epoch at a time, or over :meth:`batches`."""

    def batches(self) -> Iterator[Any]:
        """The batches of all epochs, one after the other, without end."""
        if self.loader is None:
            raise TypeError("this State was made without a loader")
        return self.loader.forever()

    def save(self, folder: Path) -> None:
        """Writes everything into the folder; every rank calls it."""
        save_parts(Path(folder) / _SHARED, self._parts)
        save_place(Path(folder), {} if self.loader is None else {"loader": self.loader})

    def load(self, folder: Path) -> None:
        """Sets everything to where it was; every rank calls it."""
        load_parts(Path(folder) / _SHARED, self._parts)
        load_place(Path(folder), {} if self.loader is None else {"loader": self.loader})


def save_parts(path: Path, parts: Dict[str, Any]) -> None:
    """What all ranks hold alike, written by the first; all of them look at it, so that what is refused is refused by all."""
    states = {name: plain(part.state_dict(), name) for name, part in parts.items()}
    if place().rank == 0:
        save(states, path)


def load_parts(path: Path, parts: Dict[str, Any]) -> None:
    """The other way, in every rank."""
    states = load(path)
    missing = sorted(set(parts) - set(states))
    if missing:
        raise KeyError(f"{path} has no {', '.join(missing)}: it holds {', '.join(sorted(states))}")
    for name, part in parts.items():
        part.load_state_dict(states[name])


def save_place(folder: Path, loaders: Dict[str, Batches]) -> None:
    """What is this rank's alone: its random numbers and its place in the data."""
    here = place()
    positions = {name: loader.state_dict() for name, loader in loaders.items()}
    own = {"world": here.world, "random": _torch_random.capture(), "loaders": positions}
    save(own, folder / f"rank-{here.rank}.pt")


def load_place(folder: Path, loaders: Dict[str, Batches]) -> None:
    """The other way; a run that goes on with another number of ranks gets other random numbers, and is told so."""
    here = place()
    path = folder / f"rank-{here.rank}.pt"
    first = folder / "rank-0.pt"
    own = load(path if path.exists() else first)
    if own["world"] != here.world:
        log.warning(
            "the checkpoint was saved by %d ranks, and there are %d now: random numbers begin anew, and so does the epoch", own["world"], here.world
        )
        return
    for name, loader in loaders.items():
        loader.load_state_dict(own["loaders"][name])
    # Last: nothing that is loaded may draw from them.
    _torch_random.restore(own["random"])


def _without_wrapper(part: Any) -> Any:
    """The weights of a data-parallel model without its wrapper, so that the file fits also a run without one."""
    return part.module if isinstance(part, torch.nn.parallel.DistributedDataParallel) else part
