"""Loads the Orbax checkpoint of two processes in one process, like any other Orbax tree.

Family: jax.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import loader_main
from loaders.orbax_trees import load

if __name__ == "__main__":
    loader_main(load)
