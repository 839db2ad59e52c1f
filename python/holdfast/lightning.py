"""Lightning under Holdfast, in one line:
``Trainer(callbacks=[holdfast.lightning.HoldfastCallback()])``.

The callback resumes from the last good checkpoint, and saves when a save is due (cadence, notice).
It also keeps what Lightning does not: the random numbers of every rank and the place in the data.
So a run interrupted in mid-epoch ends like an uninterrupted one.
"""

from __future__ import annotations

import contextlib
import os
import signal
import warnings
from pathlib import Path
from typing import Any, Dict, Iterator, Optional

try:
    from lightning.pytorch import Callback
    from lightning.pytorch.plugins.io import AsyncCheckpointIO
except ImportError:
    from pytorch_lightning import Callback  # type: ignore[no-redef]
    from pytorch_lightning.plugins.io import AsyncCheckpointIO  # type: ignore[no-redef]

from . import _torch_random
from ._attach import attach
from ._run import Run
from ._torch_batches import Batches
from ._torch_file import load, save, without_crc

__all__ = ["HoldfastCallback"]

_FILE = "checkpoint.ckpt"


class HoldfastCallback(Callback):  # type: ignore[misc]
    """Attaches once the ranks are known, and then speaks to the supervisor for the run.

    An ordinary exit with 0 finishes the run. With ``finish=True`` the run is finished as soon as
    its steps or epochs are done, whatever happens to the work after the training.
    """

    def __init__(self, *, finish: bool = False) -> None:
        self.run: Optional[Run] = None
        self._finish = finish
        self._own: Optional[Dict[str, Any]] = None
        self._last_step = 0
        self._is_after_validation = False
        self._busy = contextlib.ExitStack()

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        # Lightning's own launcher does not put the rank into the environment.
        env = {**os.environ, "RANK": str(trainer.global_rank), "WORLD_SIZE": str(trainer.world_size)}
        self.run = attach(env)
        self.run.resume(lambda folder: self._load(trainer, folder))

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._last_step = trainer.global_step
        self._take_over_loaders(trainer)
        # Also on a rank without an answer from its supervisor: it must end in the same way as the
        # others.
        if self.run is not None and self.run._supervisor.is_expected:
            _end_at_sigterm(trainer)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        # The loaders are new if Lightning reloads them.
        self._take_over_loaders(trainer)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        if _validates_now(trainer):
            # What the validation changes (callbacks, random numbers) belongs to this step.
            self._is_after_validation = True
        else:
            self._step(trainer)

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        if self.run is not None:
            self._busy.enter_context(self.run.busy("validation"))

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        self._busy.close()
        if self._is_after_validation:
            self._is_after_validation = False
            self._step(trainer)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        if self._finish and self.run is not None and _has_reached_its_goal(trainer):
            self.run.finish()

    def _step(self, trainer: Any) -> None:
        step = int(trainer.global_step)
        if self.run is None or step == self._last_step:
            # Gradients are being accumulated: there is no complete state to save.
            return
        self._last_step = step
        loss = trainer.callback_metrics.get("loss", trainer.callback_metrics.get("train_loss"))
        if self.run.step(step, loss=loss):
            with self.run.save(step) as folder:
                self._save(trainer, folder)

    def _save(self, trainer: Any, folder: Path) -> None:
        loaders = [one.state() for one in _loaders_of(trainer) if isinstance(one, _Loader)]
        # When an epoch is over, Lightning does not read its remaining batches.
        is_last = bool(trainer.is_last_batch)
        own = {"world": trainer.world_size, "random": _torch_random.capture(), "loaders": loaders, "is_last": is_last}
        save(own, folder / f"rank-{trainer.global_rank}.pt")
        with without_crc(), _at_once(trainer.strategy):
            trainer.save_checkpoint(folder / _FILE)
        if trainer.global_rank == 0 and not (folder / _FILE).exists():
            kind = type(trainer.strategy.checkpoint_io).__name__
            raise RuntimeError(f"Lightning has saved, but there is no {_FILE}: {kind} has put it elsewhere, or does so later")

    def _load(self, trainer: Any, folder: Path) -> None:
        # Lightning itself restores here if a strategy wants it late; optimizers and loops follow by
        # themselves.
        trainer._checkpoint_connector._restore_modules_and_callbacks(folder / _FILE)
        path = folder / f"rank-{trainer.global_rank}.pt"
        own = load(path) if path.exists() else None
        self._own = own if own is not None and own["world"] == trainer.world_size else None

    def _take_over_loaders(self, trainer: Any) -> None:
        """Wraps the loaders that Lightning made for this rank, so that they can start in
        mid-epoch."""
        before = _loaders_of(trainer)
        if all(isinstance(one, _Loader) for one in before):
            return
        loop = trainer.fit_loop
        after = [one if isinstance(one, _Loader) else _Loader(one, loop) for one in before]
        own, self._own = self._own, None
        if own is not None:
            for loader, state in zip(after, own["loaders"]):
                loader.batches.load_state_dict(state)
                if own["is_last"]:
                    loader.batches.leave()
            after[0].restore = own["random"]
            warnings.filterwarnings("ignore", message=".*your dataloader is not resumable.*")
        loop._combined_loader.flattened = after
        loop._data_fetcher.setup(loop._combined_loader)
        iter(loop._data_fetcher)


class _Loader:
    """One of Lightning's loaders. It takes everything but the batches from the original."""

    def __init__(self, loader: Any, loop: Any) -> None:
        self._loader = loader
        self._loop = loop
        self._drawn = 0
        self._is_over = False
        self.batches = Batches(loader)
        self.restore: Optional[Dict[str, Any]] = None

    def __len__(self) -> int:
        return len(self._loader)

    def __getattr__(self, name: str) -> Any:
        if name in ("_loader", "state_dict", "load_state_dict"):
            raise AttributeError(name)
        return getattr(self._loader, name)

    def __iter__(self) -> Iterator[Any]:
        if self._drawn > 0 and self._drawn == self._ahead():
            # Lightning starts again without having trained any batch: it is still the same epoch.
            self.batches.load_state_dict(self.state())
        self._drawn = 0
        return self._run(iter(self.batches))

    def state(self) -> Dict[str, Any]:
        """The trainer's place in the data, without the batches that were fetched ahead."""
        state = self.batches.state_dict()
        ahead = 0 if self._is_over else min(self._ahead(), self._drawn)
        return {**state, "position": state["position"] - ahead}

    def _ahead(self) -> int:
        """The number of batches that were drawn ahead of the trainer. Lightning draws ahead to find
        the end of loaders without a length."""
        return len(getattr(self._loop._data_fetcher, "batches", ()))

    def _run(self, batches: Iterator[Any]) -> Iterator[Any]:
        self._is_over = False
        while True:
            if self.restore is not None and self._is_for_the_trainer():
                # As late as possible: hooks at the start of training may have drawn random numbers.
                restore, self.restore = self.restore, None
                _torch_random.restore(restore)
            try:
                batch = next(batches)
            except StopIteration:
                self._is_over = True
                return
            self._drawn += 1
            yield batch

    def _is_for_the_trainer(self) -> bool:
        """Whether the trainer waits for a batch; false while Lightning draws ahead before the first
        one."""
        fetcher = self._loop._data_fetcher
        return fetcher.length is not None or self._drawn >= getattr(fetcher, "prefetch_batches", 0)


@contextlib.contextmanager
def _at_once(strategy: Any) -> Iterator[None]:
    """Inside the block a save is complete when it returns: every wrapper that would write in the
    background is bypassed."""
    with contextlib.ExitStack() as after:
        # Under this name, it gives the innermost wrapper an object to wrap.
        owner, inner = strategy, strategy.checkpoint_io
        while inner is not None:
            below = getattr(inner, "_checkpoint_io", None)
            if isinstance(inner, AsyncCheckpointIO):
                after.callback(setattr, owner, "_checkpoint_io", owner._checkpoint_io)
                owner._checkpoint_io = below
            else:
                owner = inner
            inner = below
        yield


def _loaders_of(trainer: Any) -> Any:
    combined = trainer.fit_loop._combined_loader
    return [] if combined is None else combined.flattened


def _validates_now(trainer: Any) -> bool:
    loop = trainer.fit_loop
    return bool(loop.epoch_loop._should_check_val_fx(loop._data_fetcher))


def _has_reached_its_goal(trainer: Any) -> bool:
    if getattr(trainer, "received_sigterm", False):
        return False
    steps, epochs = trainer.max_steps, trainer.max_epochs
    has_made_steps = steps is not None and steps > 0 and trainer.global_step >= steps
    has_made_epochs = epochs is not None and epochs > 0 and trainer.fit_loop.epoch_progress.current.processed >= epochs
    return has_made_steps or has_made_epochs


def _end_at_sigterm(trainer: Any) -> None:
    """Ends the trainer at SIGTERM. The supervisor sends it when the last save is sealed, and it
    means the end.

    Lightning would continue to the end of the batch. With several ranks it would start a broadcast
    in the signal handler, in the middle of another collective. That hangs, or mixes their data.
    """
    handler = signal.getsignal(signal.SIGTERM)
    if type(handler).__module__.partition(".")[0] not in ("lightning", "pytorch_lightning"):
        return
    before = getattr(trainer._signal_connector, "_original_handlers", {}).get(signal.SIGTERM)
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)
