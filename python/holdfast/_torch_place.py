"""Which rank this process is."""

from __future__ import annotations

import os

from ._rank import Rank, rank_of


def place() -> Rank:
    """The rank, from torch.distributed, or from the environment if that is not used."""
    return rank_of(os.environ)
