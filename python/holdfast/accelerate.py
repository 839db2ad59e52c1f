"""Accelerate under Holdfast: one object for the state, used like :class:`holdfast.torch.State`.

model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
state = holdfast.accelerate.State(accelerator, loader=loader)
run = holdfast.attach()
start = run.resume(state.load)
batches = state.batches()
…
    if run.step(step, loss=loss):
        with run.save(step) as folder:
            state.save(folder)

Steps are those of the optimizer: with gradient accumulation, call ``run.step`` only when
``accelerator.sync_gradients`` is true.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, Optional

from accelerate import Accelerator, skip_first_batches

from ._torch_batches import Batches, Source
from ._torch_file import without_crc
from .torch import load_place, save_place

__all__ = ["State"]


class State:
    """Everything that the accelerator has prepared or registered, the place in the data, and the
    random numbers of every rank."""

    def __init__(self, accelerator: Accelerator, *, loader: Optional[Iterable[Any]] = None) -> None:
        self._accelerator = accelerator
        self.loader = None if loader is None else Batches(_PreparedSource(loader))
        """The loader, as :class:`holdfast.torch.Batches`. Iterate over this one, one epoch at a
        time, or over :meth:`batches`."""

    def batches(self) -> Iterator[Any]:
        """The batches of all epochs, one after the other, without end."""
        if self.loader is None:
            raise TypeError("this State was made without a loader")
        return self.loader.forever()

    def save(self, folder: Path) -> None:
        """Writes everything into the folder; every rank calls it."""
        with without_crc(), _as_it_is_told(self._accelerator), _scaler_once(self._accelerator):
            self._accelerator.save_state(str(folder))
        save_place(Path(folder), self._loaders())

    def load(self, folder: Path) -> None:
        """Restores everything; every rank calls it."""
        self._accelerator.load_state(str(folder))
        load_place(Path(folder), self._loaders())

    def _loaders(self) -> Dict[str, Batches]:
        return {} if self.loader is None else {"loader": self.loader}


class _PreparedSource(Source):
    """A loader that Accelerate has prepared, and that it can shorten without reading."""

    _skips = True

    def _skipping(self, epoch: int, skip: int) -> Iterable[Any]:
        if skip == 0:
            return self._loader  # type: ignore[no-any-return]
        shortened = skip_first_batches(self._loader, skip)
        if hasattr(shortened, "set_epoch"):
            shortened.set_epoch(epoch)
        return shortened  # type: ignore[no-any-return]


@contextlib.contextmanager
def _as_it_is_told(accelerator: Accelerator) -> Iterator[None]:
    """Stops Accelerate from naming checkpoints itself: it would save into a folder of its own, and
    first delete older ones there."""
    configuration = accelerator.project_configuration
    before = configuration.automatic_checkpoint_naming
    configuration.automatic_checkpoint_naming = False
    try:
        yield
    finally:
        configuration.automatic_checkpoint_naming = before


@contextlib.contextmanager
def _scaler_once(accelerator: Accelerator) -> Iterator[None]:
    """Lets rank 0 alone write what all ranks hold. Accelerate does so too, except for the gradient
    scaler, which every rank would overwrite."""
    scaler = accelerator.scaler
    each_node = accelerator.project_configuration.save_on_each_node
    if not (accelerator.is_local_main_process if each_node else accelerator.is_main_process):
        accelerator.scaler = None
    try:
        yield
    finally:
        accelerator.scaler = scaler
