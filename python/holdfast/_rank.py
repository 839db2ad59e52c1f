"""Which rank a process is, as torchrun and its like tell it."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Optional


class Rank(NamedTuple):
    rank: int
    world: int


def rank_of(settings: Mapping[str, str]) -> Rank:
    """The one that an environment names; one of its own where it names none."""
    rank, world = number(settings.get("RANK")), number(settings.get("WORLD_SIZE"))
    if rank is None or world is None or rank >= world:
        return Rank(0, 1)
    return Rank(rank, world)


def number(text: Optional[str]) -> Optional[int]:
    """A whole number from 0; None: it is no such thing."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else None
