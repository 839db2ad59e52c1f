"""All or none: no rank writes into the folder of a save before every rank has said that it was given one, and of the same save.

What is said goes through a store that all ranks reach, and not through a collective: the first verdict there counts for all of them, so that a
time-out is the same for everybody, and nobody is left inside a collective by one who does not come.
"""

from __future__ import annotations

import hashlib
import time
from typing import NamedTuple, Optional

_OPEN, _YES, _NO = "open", "yes", "no"
_FIRST_LOOK_SECONDS = 0.0005
_LAST_LOOK_SECONDS = 0.02


class Store:
    """What is needed of torch's; both are one step for all who use it at the same time."""

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        """Sets the key if it holds what is expected, or if that is nothing and it is not there; returns what it holds then."""
        raise NotImplementedError

    def add(self, key: str, amount: int) -> int:
        raise NotImplementedError


class Place(NamedTuple):
    """Where the ranks of one ballot meet."""

    name: str
    """No other ballot has it."""
    world: int
    within: float
    """Seconds after which whoever is neither there nor heard of has no part in the save, and so has nobody."""


class Given(NamedTuple):
    """The folder that the supervisor has given to a rank."""

    run: str
    """Nodes that have a folder each have a run each, and a save each."""
    save: str


def tell_coming(store: Store, name: str) -> None:
    """From a rank that still waits for its folder, again and again: the others wait for as long as they hear of somebody."""
    store.add(f"{name}/coming", 1)


def is_unanimous(store: Store, place: Place, given: Optional[Given]) -> bool:
    """True on every rank or on none; never where nothing was given."""
    verdict = f"{place.name}/verdict"
    is_mine = given is not None and _is_the_same(store, place, given)
    said = store.compare_set(verdict, "", _OPEN)
    if said == _OPEN.encode():
        said = store.compare_set(verdict, _OPEN, _opinion(store, place, verdict) if is_mine else _NO)
    return said == _YES.encode() and is_mine


def _is_the_same(store: Store, place: Place, given: Given) -> bool:
    """As what the first rank of this run says."""
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
