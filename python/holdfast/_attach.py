"""Attaches this process to its supervisor, and remembers the runs that it has attached to."""

from __future__ import annotations

import os
import weakref
from typing import Dict, Mapping, Optional

from ._rank import rank_of
from ._run import Run

_runs: Dict[str, Run] = {}
"""The attached runs, by the path of their socket."""


def attach(env: Optional[Mapping[str, str]] = None) -> Run:
    """Connects this process to the supervisor that started it.

    Outside ``holdfast run`` the returned run does nothing: no save is ever due, and a resume starts
    fresh. If the supervisor does not answer, no save is due either, but a resume uses the
    checkpoint that the environment names.

    Under torchrun every rank attaches. So does every process that a script starts itself, after it
    has initialised torch.distributed, which tells these processes apart.

    A process is one rank: attaching again returns the same run. This also holds when the supervisor
    is gone but the other ranks are not; the call then connects again.
    """
    settings = os.environ if env is None else env
    who = rank_of(settings)
    path = settings.get("HOLDFAST_SOCKET")
    known = _runs.get(path) if path else None
    if path and known is not None and known._who == who and (known.is_attached or known._together.has_looked):
        if not known.is_attached:
            known._connect(path)
        return known
    if known is not None and known.is_attached:
        known._leave(who)
    run = Run(who)
    if path:
        run._take_environment(settings)
        run._connect(path)
        _runs[path] = run
        _forget_in_children(run)
    return run


def current() -> Optional[Run]:
    """The run that this process has attached to; None when no supervisor listens."""
    return next((run for run in reversed(list(_runs.values())) if run.is_attached), None)


def _forget_in_children(run: Run) -> None:
    """Detaches a forked data-loader worker: it is a copy of the trainer and must not speak for
    it."""
    reference = weakref.ref(run)

    def forget() -> None:
        alive = reference()
        if alive is not None:
            alive._forget()
            for path in [path for path, one in _runs.items() if one is alive]:
                del _runs[path]

    os.register_at_fork(after_in_child=forget)
