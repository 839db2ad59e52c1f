"""The Hugging Face Trainer under Holdfast, in one line: ``holdfast.transformers.train(trainer)``
instead of ``trainer.train()``.

When a save is due (cadence, notice), the Trainer itself makes it, in its own format, after the
step's evaluation if there is one. The Trainer's own ``save_strategy`` also still applies;
``save_strategy="no"`` avoids double saves.
"""

from __future__ import annotations

import contextlib
import inspect
from pathlib import Path
from typing import Any, Iterator, List, Optional

from transformers import Trainer, TrainerCallback
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from ._attach import attach
from ._run import Run
from ._torch_file import without_crc

__all__ = ["HoldfastCallback", "train"]


def train(trainer: Trainer, *, finish: bool = False, **options: Any) -> Any:
    """``trainer.train(**options)``, resumed from the last good checkpoint when there is one.

    An ordinary exit with 0 finishes the run. With ``finish=True`` the run is finished as soon as
    all its steps are done, whatever happens to the rest of the script, such as an export.
    """
    callback = HoldfastCallback(trainer, finish=finish)
    last_good = callback.last_good()
    if last_good is not None:
        options["resume_from_checkpoint"] = str(last_good)
    try:
        return trainer.train(**options)
    finally:
        callback.detach()


class HoldfastCallback(TrainerCallback):
    """Used by :func:`train`: reports every step, and has the Trainer save when a save is due."""

    def __init__(self, trainer: Trainer, *, run: Optional[Run] = None, finish: bool = False) -> None:
        self.run = attach() if run is None else run
        self._trainer = trainer
        self._finish = finish
        self._due = False
        self._loss: Optional[float] = None
        self._busy = contextlib.ExitStack()
        self._end_step = trainer._maybe_log_save_evaluate
        trainer._maybe_log_save_evaluate = self._end_step_and_save
        trainer.add_callback(self)

    def detach(self) -> None:
        """Restores the Trainer as it was before."""
        self._trainer._maybe_log_save_evaluate = self._end_step
        self._trainer.remove_callback(self)

    def last_good(self) -> Optional[Path]:
        """The value for ``trainer.train(resume_from_checkpoint=…)``; None for a fresh start."""
        found: List[Path] = []
        self.run.resume(lambda folder: found.append(_inside(folder)))
        return found[0] if found else None

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        self._loss = (logs or {}).get("loss", self._loss)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        step = int(state.global_step)
        self._due = self.run.step(step, loss=self._loss)
        if control.should_evaluate:
            self._busy.enter_context(self.run.busy("evaluation"))

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._busy.close()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        # The training may have stopped early for many reasons, one of them a notice. An exit with 0
        # will tell them apart.
        if self._finish and state.global_step >= state.max_steps:
            self.run.finish()

    def _end_step_and_save(self, *args: Any, **options: Any) -> None:
        """Replaces what the Trainer does after a step, including its evaluation and its own save.
        Our save comes last."""
        self._end_step(*args, **options)
        if not self._due:
            return
        self._due = False
        given = inspect.signature(self._end_step).bind(*args, **options).arguments
        with self.run.save(int(self._trainer.state.global_step)) as folder, self._into(folder), without_crc():
            self._trainer._save_checkpoint(given["model"], given["trial"])

    @contextlib.contextmanager
    def _into(self, folder: Path) -> Iterator[None]:
        """Makes the Trainer save there. It treats this neither as its own checkpoint, to rotate or
        push, nor as its best one."""
        trainer, args = self._trainer, self._trainer.args
        # A run could not resume from the model alone.
        changes = {"save_strategy": "no", "save_total_limit": None, "push_to_hub": False, "save_only_model": False}
        before = {name: getattr(args, name) for name in changes if hasattr(args, name)}
        changes["save_strategy"] = type(before["save_strategy"])("no")
        trainer._get_output_dir = lambda trial: str(folder)
        try:
            for name, value in changes.items():
                setattr(args, name, value)
            yield
        finally:
            del trainer._get_output_dir
            for name, value in before.items():
                setattr(args, name, value)


def _inside(folder: Path) -> Path:
    """The Trainer makes a folder of its own inside the given one."""
    found = sorted(folder.glob(f"{PREFIX_CHECKPOINT_DIR}-*"))
    return found[-1] if found else folder
