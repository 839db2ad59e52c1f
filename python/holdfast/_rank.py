"""Which rank a process is, as torch.distributed knows, or torchrun and its like tell."""

from __future__ import annotations

import sys
from typing import Mapping, NamedTuple, Optional


class Rank(NamedTuple):
    rank: int
    world: int


def rank_of(settings: Mapping[str, str]) -> Rank:
    """The one that torch.distributed has given it, once it is initialised: processes that a script has started itself share one environment.
    Before that the one that the environment names; one of its own where it names none."""
    dist = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available() and dist.is_initialized() and dist.get_rank() >= 0:
        return Rank(dist.get_rank(), dist.get_world_size())
    rank, world = number(settings.get("RANK")), number(settings.get("WORLD_SIZE"))
    if rank is None or world is None or rank >= world:
        return Rank(0, 1)
    return Rank(rank, world)


def number(text: Optional[str]) -> Optional[int]:
    """A whole number from 0; None: it is no such thing."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else None
