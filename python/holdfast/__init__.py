"""Holdfast's side of a training loop.

    run = holdfast.attach()                  # harmless outside the supervisor
    start = run.resume(load)                 # the last good checkpoint, or a fresh start
    for step in range(start, total):
        train_one_step()
        if run.step(step, loss=loss):        # true when a save is due
            with run.save(step) as folder:   # leaving the block hands it over
                torch.save(state, folder / "state.pt")   # several ranks: f"state-{rank}.pt"
    run.finish()

Standard library only. Under ``holdfast run`` it speaks with the supervisor; without it nothing happens.
"""

from typing import Any, Iterator

from ._attach import attach
from ._run import Run

__all__ = ["Run", "attach", "work"]
__version__ = "0.1.0"


def work(queue: str, **options: Any) -> Iterator[Any]:
    """Yields the items of a work queue: see ``holdfast.queue.work``. Trainers do not load it."""
    from .queue import work as items

    return items(queue, **options)
