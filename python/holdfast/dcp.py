"""Torch's distributed checkpoints (DCP) under Holdfast: every rank writes its own shards, at once
or in the background.

state = holdfast.dcp.State(model, optimizer, loader=loader)
run = holdfast.attach()
start = run.resume(state.load)
batches = state.batches()
for step in range(start, total):
    loss = train(next(batches))
    if run.step(step, loss=loss):
        state.async_save(run, step)          # or state.save(run, step)
state.wait()
run.finish()

DCP's own commit (``.metadata``) is not yet durable. Here the checkpoint counts when all ranks have
handed over and the supervisor has sealed it. A background save is handed over when its last byte is
written, while training continues.
"""

from __future__ import annotations

import logging
import sys
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, Optional

import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

from ._run import Run
from ._save_block import SaveBlock
from ._torch_batches import Batches
from ._torch_file import without_crc
from .torch import load_parts, load_place, save_parts, save_place

__all__ = ["State"]

log = logging.getLogger("holdfast")

_PARTS = "parts.pt"


class State:
    """A model and its optimizers, sharded or not, and other parts with ``state_dict`` and
    ``load_state_dict``.

    It also keeps the place in the data, and the random numbers of every rank.

    All ranks must hold the same values of the other parts; rank 0 writes them into ``parts.pt``.
    DCP would only load the keys that a fresh part already has, and a fresh optimizer has none. A
    sharded part is refused.
    """

    def __init__(self, model: Any, optimizers: Any = (), *, loader: Optional[Iterable[Any]] = None, **parts: Any) -> None:
        for name, part in parts.items():
            if not callable(getattr(part, "state_dict", None)) or not callable(getattr(part, "load_state_dict", None)):
                raise TypeError(f"{name}, a {type(part).__name__}, has no state_dict and load_state_dict, so it cannot be saved or loaded")
        self._model = model
        self._optimizers = optimizers
        self._parts = parts
        self._group: Any = None
        self._saving: "Optional[Future[Any]]" = None
        self.loader = loader if loader is None or isinstance(loader, Batches) else Batches(loader)
        """The loader, as :class:`holdfast.torch.Batches`. Iterate over this one, one epoch at a
        time, or over :meth:`batches`."""

    def batches(self) -> Iterator[Any]:
        """The batches of all epochs, one after the other, without end."""
        if self.loader is None:
            raise TypeError("this State was made without a loader")
        return self.loader.forever()

    def save(self, run: Run, step: int) -> None:
        """Saves this step and returns when this rank has written its part; every rank calls it."""
        self.wait()
        block = run.save(step)
        folder = block.__enter__()
        try:
            self._save_whole(folder)
            dcp.save(self._state(), storage_writer=_Writer(folder), **self._ranks())
        except BaseException:
            _give_up(block)
            raise
        block.__exit__(None, None, None)

    def async_save(self, run: Run, step: int) -> None:
        """Saves this step in the background and returns when the state is copied; every rank calls
        it.

        Saves run one at a time: the next one waits for this one. An error in the background costs
        the save and is logged.
        """
        self.wait()
        block = run.save(step)
        folder = block.__enter__()
        try:
            self._save_whole(folder)
            response: Any = dcp.async_save(self._state(), storage_writer=_Writer(folder), **self._ranks())
            # Newer versions report separately when the state is copied and when it is written.
            saving: "Future[Any]" = getattr(response, "upload_completion", response)
            copied = getattr(response, "staging_completion", None)
            if copied is not None:
                copied.result()
        except BaseException:
            _give_up(block)
            raise
        block.in_background()
        self._saving = saving
        saving.add_done_callback(lambda done: _leave(block, step, done))

    def wait(self) -> None:
        """Returns when no background save is running any more."""
        saving, self._saving = self._saving, None
        if saving is not None:
            saving.exception()

    def load(self, folder: Path) -> None:
        """Restores everything; every rank calls it."""
        state = self._state()
        dcp.load(state, checkpoint_id=str(folder), **self._ranks())
        set_state_dict(self._model, self._optimizers, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
        if self._parts:
            load_parts(Path(folder) / _PARTS, self._parts)
        load_place(Path(folder), self._loaders())

    def _state(self) -> Dict[str, Any]:
        model, optimizer = get_state_dict(self._model, self._optimizers)
        return {"model": model, "optimizer": optimizer}

    def _save_whole(self, folder: Path) -> None:
        """Writes the small parts that are not DCP's, before training continues."""
        if self._parts:
            save_parts(folder / _PARTS, self._parts)
        save_place(folder, self._loaders())

    def _loaders(self) -> Dict[str, Batches]:
        return {} if self.loader is None else {"loader": self.loader}

    def _ranks(self) -> Dict[str, Any]:
        """A group of its own: background collectives must not mix with those of the training."""
        if not dist.is_initialized():
            return {"no_dist": True}
        if self._group is None:
            self._group = dist.new_group(backend="gloo")
        return {"process_group": self._group}


class _Writer(dcp.FileSystemWriter):
    """Writes without the checksum that no one reads, and without a sync: the supervisor makes it
    durable."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder), sync_files=False)

    def write_data(self, *args: Any, **options: Any) -> Any:
        with without_crc():
            return super().write_data(*args, **options)


def _give_up(block: SaveBlock) -> None:
    """Always raises the error: the other ranks may be in a collective that all must join, and would
    wait."""
    block.__exit__(*sys.exc_info())


def _leave(block: SaveBlock, step: int, done: "Future[Any]") -> None:
    error = CancelledError("it was cancelled") if done.cancelled() else done.exception()
    if error is not None:
        log.error("step %d could not be saved: %s", step, error)
    block.__exit__(None if error is None else type(error), error, None)
