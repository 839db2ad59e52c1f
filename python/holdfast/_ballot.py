"""All or none: no rank writes a save before every rank has reported a folder of that same save.

The ranks vote through a store that all of them reach, not through a collective. The first verdict
there counts for all ranks. So a time-out is the same for every rank, and no rank hangs in a
collective because another does not come.
"""

from __future__ import annotations

import hashlib
import time
from typing import NamedTuple, Optional

_OPEN, _YES, _NO = "open", "yes", "no"
_FIRST_LOOK_SECONDS = 0.0005
_LAST_LOOK_SECONDS = 0.02


class Store:
    """The part of torch's store that a ballot needs. Both operations are atomic."""

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        """Sets the key if its value is ``expected``, or if ``expected`` is empty and the key is
        absent. Returns the value that the key has afterwards."""
        raise NotImplementedError

    def add(self, key: str, amount: int) -> int:
        raise NotImplementedError


class Place(NamedTuple):
    """Where the ranks of one ballot meet."""

    name: str
    """Unique to this ballot."""
    world: int
    within: float
    """Seconds without a sign from a missing rank, after which no rank saves."""


class Given(NamedTuple):
    """The folder that the supervisor has granted to a rank."""

    run: str
    """Nodes with a folder each have a run each, and a save each."""
    save: str


def tell_coming(store: Store, name: str) -> None:
    """Reports that this rank still waits for its folder. Call it repeatedly: the other ranks wait
    as long as they hear from some rank."""
    store.add(f"{name}/coming", 1)


def is_unanimous(store: Store, place: Place, given: Optional[Given]) -> bool:
    """True on every rank or on none; never true on a rank without a folder."""
    verdict = f"{place.name}/verdict"
    is_mine = given is not None and _is_the_same(store, place, given)
    said = store.compare_set(verdict, "", _OPEN)
    if said == _OPEN.encode():
        said = store.compare_set(verdict, _OPEN, _opinion(store, place, verdict) if is_mine else _NO)
    return said == _YES.encode() and is_mine


def _is_the_same(store: Store, place: Place, given: Given) -> bool:
    """Whether this is the save that the first rank of this run reported."""
    run = hashlib.sha256(given.run.encode()).hexdigest()[:16]
    return store.compare_set(f"{place.name}/save-{run}", "", given.save) == given.save.encode()


def _opinion(store: Store, place: Place, verdict: str) -> str:
    if store.add(f"{place.name}/given", 1) == place.world:
        return _YES
    until = time.monotonic() + place.within
    heard = 0
    pause = _FIRST_LOOK_SECONDS
    while store.compare_set(verdict, _OPEN, _OPEN) == _OPEN.encode():
        if time.monotonic() >= until:
            before, heard = heard, store.add(f"{place.name}/coming", 0)
            if heard == before:
                return _NO
            until = time.monotonic() + place.within
        time.sleep(pause)
        pause = min(_LAST_LOOK_SECONDS, 2 * pause)
    return _NO
