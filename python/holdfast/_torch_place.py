"""Which rank this process is."""

from __future__ import annotations

import os
from typing import NamedTuple

import torch.distributed as dist

from ._rank import rank_of


class Place(NamedTuple):
    rank: int
    world: int


def place() -> Place:
    """As torch.distributed knows it, or the environment where that is not used."""
    if dist.is_available() and dist.is_initialized():
        return Place(dist.get_rank(), dist.get_world_size())
    who = rank_of(os.environ)
    return Place(who.rank, who.world)
