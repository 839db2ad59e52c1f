"""Finds which rank a process is, from torch.distributed or the launcher's environment."""

from __future__ import annotations

import sys
from typing import Mapping, NamedTuple, Optional


class Rank(NamedTuple):
    rank: int
    world: int


def rank_of(settings: Mapping[str, str]) -> Rank:
    """The rank that torch.distributed has given, once it is initialised: processes that a script
    starts itself share one environment. Otherwise the rank that the environment names, or a single
    rank if it names none."""
    dist = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available() and dist.is_initialized() and dist.get_rank() >= 0:
        return Rank(dist.get_rank(), dist.get_world_size())
    rank, world = number(settings.get("RANK")), number(settings.get("WORLD_SIZE"))
    if rank is None or world is None or rank >= world:
        return Rank(0, 1)
    return Rank(rank, world)


def number(text: Optional[str]) -> Optional[int]:
    """A whole number from 0; None when the text is not one."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else None
