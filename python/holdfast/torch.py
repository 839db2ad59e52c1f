"""Everything that a training loop in plain PyTorch has to keep, in one object.

state = holdfast.torch.State(model=model, optimizer=optimizer, loader=loader)
run = holdfast.attach()
start = run.resume(state.load)
batches = state.batches()                    # resumes in the middle of an epoch
for step in range(start, total):
    loss = train(next(batches))
    if run.step(step, loss=loss):
        state.async_save(run, step)          # or, in a block of run.save(step), state.save(folder)
run.finish()

A state on a CUDA device leaves it beside the training, and is handed over when it has arrived; see
:mod:`holdfast._torch_staging`.

Each rank also keeps its random numbers (Python, NumPy, torch on CPU and CUDA) and its place in the
data. So an interrupted run ends with the numbers of an uninterrupted one, bit for bit if the
operations themselves are reproducible.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, Optional, Tuple

import torch

from . import _torch_random
from ._attach import current
from ._device import device_of
from ._run import Run
from ._save_block import SaveBlock
from ._torch_batches import Batches
from ._torch_file import load, plain, save, without_crc
from ._torch_image import Unsuited
from ._torch_place import place
from ._torch_staging import Staging, hook
from ._torch_taken import Taken
from ._torch_walk import Walk

__all__ = ["Batches", "State", "load", "save", "without_crc"]

log = logging.getLogger("holdfast")

_SHARED = "state.pt"


class State:
    """Model, optimizer and other parts with ``state_dict`` and ``load_state_dict``, the place in
    the data, and the random numbers.

    Rank 0 writes the parts into ``state.pt``; all ranks hold the same parts, as in data-parallel
    training. Every rank writes its own random numbers and place in the data into ``rank-N.pt``. For
    sharded models use :mod:`holdfast.dcp`.
    """

    def __init__(self, *, loader: Optional[Iterable[Any]] = None, **parts: Any) -> None:
        for name, part in parts.items():
            if not callable(getattr(part, "state_dict", None)) or not callable(getattr(part, "load_state_dict", None)):
                raise TypeError(f"{name}, a {type(part).__name__}, has no state_dict and load_state_dict, so it cannot be saved or loaded")
        self._parts: Dict[str, Any] = {name: _without_wrapper(part) for name, part in parts.items()}
        self.loader = loader if loader is None or isinstance(loader, Batches) else Batches(loader)
        """The loader, as :class:`Batches`. Iterate over this one, one epoch at a time, or over
        :meth:`batches`."""
        self._staging: Optional[Staging] = None
        self._is_looked_at = False
        self._is_got_ready = False
        self._is_in_background = False
        self._saving: Optional["Future[None]"] = None
        # One thread for all saves, because starting a thread delays the trainer.
        self._worker: Optional[ThreadPoolExecutor] = None
        for part in self._parts.values():
            hook(part, "register_step_post_hook", self._after_step)

    def batches(self) -> Iterator[Any]:
        """The batches of all epochs, one after the other, without end."""
        if self.loader is None:
            raise TypeError("this State was made without a loader")
        return self.loader.forever()

    def save(self, folder: Path) -> None:
        """Writes everything into the folder; every rank calls it."""
        if not self._is_in_background:
            # This way of saving needs none of the memory that is kept for background saves.
            self._is_looked_at = True
            self._stop_staging()
        save_parts(Path(folder) / _SHARED, self._parts)
        save_place(Path(folder), self._loaders())

    def _final_save(self, folder: Path) -> None:
        """Writes the state after the last step; see :meth:`Run.finish`."""
        self.wait()
        self.save(folder)

    def async_save(self, run: Run, step: int) -> None:
        """Saves this step; every rank calls it. A state on a CUDA device is handed over in the
        background, any other before this returns.

        Saves run one at a time: the next one waits for this one. An error in the background costs
        the save and is logged.
        """
        self.wait()
        self._is_in_background = True
        block = run.save(step)
        states, walk = self._walk()
        own = _own_state(self._loaders())
        taken = self._take(states, walk, False) if walk is not None and block.may_enter_later() else None
        if taken is not None:
            return self._deliver(taken, own, block, None)
        folder = block.__enter__()
        try:
            taken = self._take(states, walk, True) if walk is not None and block.is_kept else None
            if taken is None:
                _write(folder, states, own)
        except BaseException:
            if block.__exit__(*sys.exc_info()):
                return
            raise
        if taken is None:
            block.__exit__(None, None, None)
        else:
            self._deliver(taken, own, block, folder)

    def wait(self) -> None:
        """Returns when no background save is running any more."""
        saving, self._saving = self._saving, None
        if saving is not None:
            saving.exception()

    def load(self, folder: Path) -> None:
        """Restores everything; every rank calls it."""
        load_parts(Path(folder) / _SHARED, self._parts)
        load_place(Path(folder), self._loaders())

    def _loaders(self) -> Dict[str, Batches]:
        return {} if self.loader is None else {"loader": self.loader}

    def _walk(self) -> Tuple[Dict[str, Any], Optional[Walk]]:
        """The states of all parts, and a walk through them if they can be saved in the background.
        None instead of the walk: write them at once."""
        walk = self._begin_walk()
        states: Dict[str, Any] = {}
        for name, part in self._parts.items():
            states[name] = plain(part.state_dict(), name)
            walk = self._go_on(walk, states[name])
        if self._is_looked_at or place().rank != 0:
            return states, walk
        with self._at_the_cost_of_time():
            self._look_at(states)
        walk = self._begin_walk()
        for state in states.values():
            walk = self._go_on(walk, state)
        return states, walk

    def _begin_walk(self) -> Optional[Walk]:
        with self._at_the_cost_of_time():
            return None if self._staging is None else self._staging.walk()
        return None

    def _go_on(self, walk: Optional[Walk], state: Any) -> Optional[Walk]:
        with self._at_the_cost_of_time():
            if walk is not None:
                walk.add(state)
            return walk
        return None

    def _take(self, states: Dict[str, Any], walk: Walk, is_given: bool) -> Optional[Taken]:
        """The state as it is now, to be delivered later; None: write it at once."""
        with self._at_the_cost_of_time():
            return None if self._staging is None else self._staging.take(states, walk, is_given)
        return None

    @contextlib.contextmanager
    def _at_the_cost_of_time(self) -> Iterator[None]:
        """An error in the block costs neither the save nor the training, only the speed of the
        save."""
        try:
            yield
        except Unsuited as error:
            log.warning("the state is written before training goes on: %s", error)
            self._stop_staging()
        except Exception:
            log.exception("the state is written before training goes on")
            self._stop_staging()

    def _deliver(self, taken: Taken, own: Dict[str, Any], block: SaveBlock, folder: Optional[Path]) -> None:
        """Delivers in the background, or at once if no thread can be started."""
        try:
            block.in_background()
            self._worker = self._worker or ThreadPoolExecutor(1, "holdfast-save")
            self._saving = self._worker.submit(_deliver, taken, own, block, folder)
        except RuntimeError as error:
            log.warning("training waits while the state is written: %s", error)
            self._worker = None
            _deliver(taken, own, block, folder)
        except BaseException:
            taken.cancel()
            block.__exit__(*sys.exc_info())
            raise

    def _stop_staging(self) -> None:
        staging, self._staging = self._staging, None
        try:
            if staging is not None:
                staging.close()
        except Exception:
            log.exception("the memory that was reserved for saves could not be released")

    def _look_at(self, states: Dict[str, Any]) -> None:
        """Finds the device of the state, the first time, and starts to prepare what its saves
        need."""
        if self._is_looked_at:
            return
        self._is_looked_at = True
        device, run = device_of(states), current()
        if device is None or run is None:
            return
        self._staging = Staging(device, self._parts.values())
        self._staging.prepare(run, states)

    def _after_step(self, optimizer: Any, *_: Any) -> None:
        """Prepares after the optimizer's first step, when it has its state. Only once, because
        collecting the state may take long."""
        if self._is_got_ready or self._is_looked_at or current() is None:
            return
        self._is_got_ready = True
        if place().rank != 0:
            return
        try:
            self._look_at(_states_of(self._parts))
            if self._staging is not None:
                self._staging.saw_step(optimizer)
        except Exception:
            # The first save meets the same error and reports it.
            self._is_looked_at = False
            log.debug("the resources for saves could not be prepared", exc_info=True)


def _deliver(taken: Taken, own: Dict[str, Any], block: SaveBlock, given: Optional[Path]) -> None:
    try:
        if given is not None:
            taken.begin()
        folder = given or block.enter_later(taken.begin)
        if folder is None:
            return taken.cancel()
        taken.deliver(folder / _SHARED, block.is_staged)
        # Files are linked in memory only. Elsewhere, report whether this one could have been: then
        # the next one will be.
        block.tell_linked(taken.is_linked if block.is_staged else taken.is_linkable)
        save(own, folder / _own_file())
    except BaseException as error:
        with contextlib.suppress(Exception):
            taken.cancel()
        log.error("step %d could not be saved: %s: %s", block.step, type(error).__name__, error)
        block.__exit__(type(error), error, None)
    else:
        block.__exit__(None, None, None)


def _write(folder: Path, states: Dict[str, Any], own: Dict[str, Any]) -> None:
    if place().rank == 0:
        save(states, folder / _SHARED)
    save(own, folder / _own_file())


def _states_of(parts: Dict[str, Any]) -> Dict[str, Any]:
    return {name: plain(part.state_dict(), name) for name, part in parts.items()}


def save_parts(path: Path, parts: Dict[str, Any]) -> None:
    """Writes on rank 0 what all ranks hold. Every rank checks the parts, so that all ranks refuse
    the same ones."""
    states = _states_of(parts)
    if place().rank == 0:
        save(states, path)


def load_parts(path: Path, parts: Dict[str, Any]) -> None:
    """Loads on every rank what :func:`save_parts` wrote."""
    states = load(path)
    missing = sorted(set(parts) - set(states))
    if missing:
        raise KeyError(f"{path} has no {', '.join(missing)}: it holds {', '.join(sorted(states))}")
    for name, part in parts.items():
        part.load_state_dict(states[name])


def save_place(folder: Path, loaders: Dict[str, Batches]) -> None:
    """Writes what belongs to this rank alone: its random numbers and its place in the data."""
    save(_own_state(loaders), folder / _own_file())


def _own_state(loaders: Dict[str, Batches]) -> Dict[str, Any]:
    positions = {name: loader.state_dict() for name, loader in loaders.items()}
    return {"world": place().world, "random": _torch_random.capture(), "loaders": positions}


def _own_file() -> str:
    return f"rank-{place().rank}.pt"


def load_place(folder: Path, loaders: Dict[str, Batches]) -> None:
    """Loads what :func:`save_place` wrote. With another number of ranks it keeps new random
    numbers, and warns."""
    here = place()
    path = folder / _own_file()
    first = folder / "rank-0.pt"
    own = load(path if path.exists() else first)
    if own["world"] != here.world:
        log.warning(
            "the checkpoint was saved by %d ranks, and there are %d now: the random state and the epoch start anew", own["world"], here.world
        )
        return
    for name, loader in loaders.items():
        loader.load_state_dict(own["loaders"][name])
    # Last: nothing that is loaded may draw from them.
    _torch_random.restore(own["random"])


def _without_wrapper(part: Any) -> Any:
    """The weights of a data-parallel model without its wrapper, so that a run without one can load
    the file."""
    return part.module if isinstance(part, torch.nn.parallel.DistributedDataParallel) else part
