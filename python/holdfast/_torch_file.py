"""Files of tensors, written without the checksum that torch never reads, and loaded without
executing anything."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import pickle
import threading
from collections import Counter, OrderedDict
from typing import IO, Any, Iterator, List, Tuple, Union

import torch

_PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, torch.Size)
_lock = threading.Lock()
_inside = 0
_before = True


def save(obj: Any, path: Union[str, "os.PathLike[str]"]) -> None:
    """``torch.save`` without the CRC-32 of every record.

    ``torch.load`` never compares it, and computing it costs more than half of a fast disk's speed.
    A sealed checkpoint has its own checksums, which are compared before a resume.
    """
    with without_crc():
        torch.save(obj, path)


def load(path: Union[str, "os.PathLike[str]", IO[bytes]]) -> Any:
    """Loads on the CPU what :func:`save` wrote. Refuses a file that would execute code
    (``weights_only``)."""
    return torch.load(path, map_location="cpu", weights_only=True)


@contextlib.contextmanager
def without_crc() -> Iterator[None]:
    """Inside the block ``torch.save`` computes no CRC-32, even if several threads save at once.
    Afterwards it behaves as before.

    The switch is torch's: per thread in newer versions, per process in older ones. A torch without
    the switch (before 2.6) always computes the CRC-32.
    """
    global _inside, _before
    switch = getattr(torch.serialization, "set_crc32_options", None)
    if switch is None:
        yield
        return
    with _lock:
        mine = torch.serialization.get_crc32_options()
        if _inside == 0:
            _before = mine
        _inside += 1
        switch(False)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            # A switch per process may already be off because of another thread. The last block to
            # end restores it.
            switch(mine or (_before and _inside == 0))


def plain(value: Any, name: str) -> Any:
    """The value in a form that :func:`load` accepts in full; raises TypeError, naming the place,
    for what it would refuse.

    At the save, such an error costs one save. At the resume, it would cost the run.
    """
    if isinstance(value, torch.Tensor):
        _refuse_sharded(value, name)
        return value
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        return value.item()
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, (dict, list, tuple, set)):
        return _plain_container(value, name)
    raise TypeError(
        f"{name} is a {type(value).__module__}.{type(value).__qualname__}, which torch.load(weights_only=True) refuses: "
        "save tensors, numbers, strings and containers of them"
    )


def _plain_container(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        items: List[Tuple[Any, Any]] = [(plain(key, f"a key of {name}"), plain(one, f"{name}[{key!r}]")) for key, one in value.items()]
        if isinstance(value, Counter) and _loads_counters():
            # Schedules count their milestones, and ask a dict for methods that only a Counter has.
            return Counter(dict(items))
        return OrderedDict(items) if isinstance(value, OrderedDict) else dict(items)
    parts = [plain(one, f"{name}[{number}]") for number, one in enumerate(value)]
    if isinstance(value, list):
        return parts
    return tuple(parts) if isinstance(value, tuple) else set(parts)


@functools.lru_cache(maxsize=None)
def _loads_counters() -> bool:
    """Older versions of torch refuse a Counter."""
    file = io.BytesIO()
    torch.save(Counter({1: 1}), file)
    file.seek(0)
    try:
        return isinstance(load(file), Counter)
    except pickle.UnpicklingError:
        return False


def _refuse_sharded(value: torch.Tensor, name: str) -> None:
    if hasattr(value, "full_tensor") or hasattr(value, "local_shards"):
        raise TypeError(f"{name} is sharded over several ranks, and one file cannot hold it: pass it to holdfast.dcp.State as model or optimizer")
