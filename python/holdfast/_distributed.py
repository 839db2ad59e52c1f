"""Carries an agreement between the ranks over torch.distributed, if the trainer has initialised
it."""

from __future__ import annotations

import datetime
import itertools
import logging
import sys
from typing import Any, List, Optional, Sequence

from ._agreement import Broken, Channel
from ._ballot import Given, Place, is_unanimous, tell_coming

log = logging.getLogger("holdfast")

_MEET_SECONDS = 30.0
"""How long to wait for all ranks to attach. They attach at the same place of one program, so a rank
that is missing after this time does not attach."""
_WAIT_SECONDS = 60.0
"""How long to wait for a rank. One that is this much later than the others cannot take part in a
flush."""

_meetings = itertools.count()


def is_ready() -> bool:
    """True when the trainer has initialised torch.distributed for more than one rank."""
    return _distributed() is not None


def meet() -> Optional[Channel]:
    """A channel between all ranks, on a CPU group of its own. None on every rank when some rank
    does not come."""
    dist = _distributed()
    if dist is None:
        return None
    try:
        place = f"holdfast/{next(_meetings)}"
        return _Gloo(dist, place) if _all_come(dist, place) else None
    except (RuntimeError, ValueError, AttributeError) as error:
        _warn(error)
        return None


def _warn(error: Exception) -> None:
    log.warning("the ranks cannot agree among themselves (%s); the supervisor chooses the steps of saves instead", _first_line(error))


def _distributed() -> Any:
    # Never import it: if the trainer has not, there is nothing to agree on.
    dist = sys.modules.get("torch.distributed")
    if dist is None or not dist.is_available() or not dist.is_initialized() or dist.get_world_size() < 2:
        return None
    return dist


def _all_come(dist: Any, place: str) -> bool:
    """Whether all ranks have attached. Making a group waits for every rank, and would wait in vain
    if only some attach. The first verdict counts for all."""
    store = _store(dist)
    rank, world = dist.get_rank(), dist.get_world_size()
    store.set(f"{place}/rank-{rank}", "here")
    verdict = "yes"
    try:
        store.wait([f"{place}/rank-{other}" for other in range(world)], datetime.timedelta(seconds=_MEET_SECONDS))
    except RuntimeError:
        verdict = "no"
    if store.compare_set(f"{place}/verdict", "", verdict) == b"yes":
        return True
    log.warning("not all %d ranks have attached within %d s; the supervisor chooses the steps of saves instead", world, _MEET_SECONDS)
    return False


def _store(dist: Any) -> Any:
    return dist.distributed_c10d._get_default_store()


class _Gloo(Channel):
    def __init__(self, dist: Any, place: str) -> None:
        self._torch = sys.modules["torch"]
        self._dist = dist
        self._bound = datetime.timedelta(seconds=_WAIT_SECONDS)
        self._group: Any = None
        self._sent: Any = None
        self._work: Any = None
        # Keep the store: the ranks may still save after they have lost each other in the group.
        self._store = _store(dist)
        self._place = place
        self._world = dist.get_world_size()
        try:
            self._group = dist.new_group(backend="gloo", timeout=self._bound)
        except (RuntimeError, ValueError) as error:
            # Other ranks may have made their group. All of them ask the store before a save, so
            # this rank must answer there.
            self.has_group = False
            _warn(error)

    def start(self, values: Sequence[int]) -> None:
        try:
            self._sent = self._numbers(values)
            self._work = self._dist.all_reduce(self._sent, op=self._dist.ReduceOp.MAX, group=self._group, async_op=True)
        except (RuntimeError, ValueError) as error:
            raise Broken(_first_line(error)) from None

    def largest(self) -> List[int]:
        try:
            self._work.wait(self._bound)
            return list(self._sent.tolist())
        except (RuntimeError, ValueError) as error:
            raise Broken(_first_line(error)) from None

    def gather(self, values: Sequence[int]) -> List[List[int]]:
        try:
            mine = self._numbers(values)
            all_of_them = [self._torch.empty_like(mine) for _ in range(self._dist.get_world_size(self._group))]
            self._dist.all_gather(all_of_them, mine, group=self._group, async_op=True).wait(self._bound)
            return [list(one.tolist()) for one in all_of_them]
        except (RuntimeError, ValueError) as error:
            raise Broken(_first_line(error)) from None

    def tell_coming(self, place: str) -> None:
        try:
            tell_coming(self._store, f"{self._place}/{place}")
        except (RuntimeError, ValueError) as error:
            raise Broken(_first_line(error)) from None

    def is_unanimous(self, place: str, given: Optional[Given]) -> bool:
        try:
            return is_unanimous(self._store, Place(f"{self._place}/{place}", self._world, _WAIT_SECONDS), given)
        except (RuntimeError, ValueError) as error:
            raise Broken(_first_line(error)) from None

    def close(self) -> None:
        # The group's threads must end before the interpreter: one that still held our tensor would
        # abort the process. Nothing may be under way, or this would wait for it.
        group, self._group, self._sent, self._work = self._group, None, None, None
        if group is None:
            return
        try:
            self._dist.destroy_process_group(group)
        except (RuntimeError, ValueError, AssertionError) as error:
            log.debug("the group of the ranks was gone already: %s", error)

    def _numbers(self, values: Sequence[int]) -> Any:
        # Name device and type: the trainer may have changed the defaults.
        return self._torch.tensor(list(values), dtype=self._torch.int64, device="cpu")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
