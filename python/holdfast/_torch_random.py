"""The states of all random numbers that a training run draws from: Python's, NumPy's, and torch's
on the CPU and on CUDA."""

from __future__ import annotations

import random
import sys
from types import TracebackType
from typing import Any, Dict, Optional, Tuple, Type

import torch

_MASK = (1 << 64) - 1


def capture() -> Dict[str, Any]:
    """What :func:`restore` needs, in plain values that a loader without code execution can read."""
    version, numbers, spare = random.getstate()
    state: Dict[str, Any] = {
        "python": [version, torch.tensor(numbers, dtype=torch.int64), spare],
        "torch": torch.get_rng_state(),
    }
    numpy = _numpy()
    if numpy is not None:
        legacy = numpy.random.get_state(legacy=False)
        state["numpy"] = {
            "kind": legacy["bit_generator"],
            "key": torch.tensor(legacy["state"]["key"].tolist(), dtype=torch.int64),
            "pos": int(legacy["state"]["pos"]),
            "has_gauss": int(legacy["has_gauss"]),
            "gauss": float(legacy["gauss"]),
        }
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        # A rank draws on its own device; the states of the other devices belong to other ranks.
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def restore(state: Dict[str, Any]) -> None:
    """Sets every generator to its captured state."""
    version, numbers, spare = state["python"]
    random.setstate((version, tuple(numbers.tolist()), spare))
    torch.set_rng_state(state["torch"])
    legacy = state.get("numpy")
    if legacy is not None:
        import numpy

        numpy.random.set_state(
            {
                "bit_generator": legacy["kind"],
                "state": {"key": numpy.array(legacy["key"].tolist(), dtype=numpy.uint32), "pos": legacy["pos"]},
                "has_gauss": legacy["has_gauss"],
                "gauss": legacy["gauss"],
            }
        )
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])


def mix(*numbers: int) -> int:
    """Derives one seed from several numbers; neighbouring numbers get unrelated seeds
    (splitmix64)."""
    value = 0
    for number in numbers:
        value = (value + number + 0x9E3779B97F4A7C15) & _MASK
        value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
        value ^= value >> 31
    return value >> 1


def seed_all(seed: int) -> None:
    """Seeds the generators that data loading may draw from. Not CUDA, which belongs to the
    model."""
    random.seed(seed)
    torch.default_generator.manual_seed(seed)
    numpy = _numpy()
    if numpy is not None:
        numpy.random.seed(seed & 0xFFFFFFFF)


_Snapshot = Tuple[Any, torch.Tensor, Any]


class Stream:
    """A separate stream of random numbers. Inside the block the global generators follow this
    stream; outside, they are unaffected."""

    def __init__(self, seed: int) -> None:
        self._seed: Optional[int] = seed
        self._inside: Optional[_Snapshot] = None
        self._outside: Optional[_Snapshot] = None

    def __enter__(self) -> None:
        self._outside = _snapshot()
        if self._inside is not None:
            _put(self._inside)
        elif self._seed is not None:
            seed_all(self._seed)

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], traceback: Optional[TracebackType]
    ) -> None:
        self._inside = _snapshot()
        if self._outside is not None:
            _put(self._outside)


def _snapshot() -> _Snapshot:
    numpy = _numpy()
    return random.getstate(), torch.get_rng_state(), None if numpy is None else numpy.random.get_state()


def _put(snapshot: _Snapshot) -> None:
    python, cpu, legacy = snapshot
    random.setstate(python)
    torch.set_rng_state(cpu)
    numpy = _numpy()
    if numpy is not None and legacy is not None:
        numpy.random.set_state(legacy)


def _numpy() -> Any:
    """NumPy, if it is imported: otherwise nothing has drawn from it."""
    return sys.modules.get("numpy") if hasattr(sys.modules.get("numpy"), "random") else None
