"""A torch file whose tensors stay at the same offsets from save to save. They are overwritten in
place; only the end of the file is written anew.

It is the zip of ``torch.save`` in another order: first the bytes of the tensors, then the pickle,
whose length changes with every learning rate. Like all our files, it has no checksum that torch
would never compare.
"""

from __future__ import annotations

import io
import mmap
import pickle
import struct
import sys
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

import torch

_ALIGNMENT = 512
"""The alignment of a tensor's bytes, which device allocators use too."""
_ROOT = "state"
_MOST = 0xFFFFFFFF
"""A number from this size on stands in a field of its own (zip64)."""
_PADDING = 0x4246
"""The field that torch pads with, as the bytes ``FB``."""


_TENSORS = (torch.Tensor, torch.nn.Parameter)


class Unsuited(Exception):
    """The state cannot be laid out like this; ``torch.save`` may be able to write it."""


class Kept(NamedTuple):
    """The bytes behind one or several tensors."""

    storage: torch.UntypedStorage
    tensors: List[torch.Tensor]


def kept_in(states: Dict[str, Any]) -> Dict[int, Kept]:
    """The storages of a state of plain values, each once, in the order in which they are found."""
    found: Dict[int, Kept] = {}
    for state in states.values():
        for _ in meet(state, found):
            pass
    return found


def meet(state: Any, found: Dict[int, Kept]) -> Iterator[Kept]:
    """Yields the storages of a state that were not found before, as they are found."""
    for tensor in _tensors_in(state):
        if type(tensor) not in _TENSORS or tensor.layout is not torch.strided or tensor.is_quantized:
            raise Unsuited(f"it holds a {type(tensor).__name__} of layout {tensor.layout}")
        storage = tensor.untyped_storage()
        kept = found.get(storage._cdata)
        if kept is None:
            kept = found[storage._cdata] = Kept(storage, [tensor])
            yield kept
        elif kept.tensors[0].dtype is not tensor.dtype:
            raise Unsuited("it holds the same bytes as two types")
        else:
            kept.tensors.append(tensor)


def _tensors_in(state: Any) -> List[torch.Tensor]:
    found: List[torch.Tensor] = []
    waiting: List[Any] = [state]
    while waiting:
        value = waiting.pop()
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, dict):
            waiting.extend(value.keys())
            waiting.extend(value.values())
        elif isinstance(value, (list, tuple, set)):
            waiting.extend(value)
    return found


class Layout:
    """The offsets of all storages, by number, and the headers in front of them. All of them end
    below ``end``."""

    def __init__(self, sizes: Sequence[int], end: int = 0) -> None:
        self.sizes = tuple(sizes)
        offsets: List[int] = []
        headers: List[Tuple[int, bytes]] = []
        at = 0
        for number, size in enumerate(self.sizes):
            name = _name_of(number)
            data = _up(at + len(_header(name, size, 0)), _ALIGNMENT)
            header = _header(name, size, data - at - len(_header(name, size, 0)))
            headers.append((at, header))
            offsets.append(data)
            at = data + size
        self.offsets = tuple(offsets)
        self.headers = tuple(headers)
        self.end = max(_up(at, mmap.PAGESIZE), end)
        """Every save writes the file anew from here on; on a page of its own."""

    @property
    def room(self) -> int:
        """A size that the file will hardly ever exceed."""
        return self.end + (1 << 20) + 1024 * len(self.sizes)

    def tail(self, pickled: bytes) -> bytes:
        """The bytes after the tensors: the pickle, small records, and the directory of the zip."""
        out = io.BytesIO()
        entries = [_entry(_name_of(number), size, at) for number, (size, (at, _)) in enumerate(zip(self.sizes, self.headers))]
        for name, data in (("data.pkl", pickled), ("byteorder", sys.byteorder.encode()), ("version", b"3\n")):
            at = self.end + out.tell()
            out.write(_header(f"{_ROOT}/{name}", len(data), 0) + data)
            entries.append(_entry(f"{_ROOT}/{name}", len(data), at))
        start = self.end + out.tell()
        out.write(b"".join(entries))
        out.write(_ending(start, self.end + out.tell() - start, len(entries)))
        return out.getvalue()


def pickled(state: Any, numbers: Dict[int, int]) -> bytes:
    """Pickles the structure of a state, with numbers for its storages. It records them as CPU
    storages, since the file holds them so."""
    out = io.BytesIO()
    _Pickler(out, numbers).dump(state)
    return out.getvalue()


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, numbers: Dict[int, int]) -> None:
        super().__init__(file, protocol=2)
        self._numbers = numbers

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, torch.storage.TypedStorage):
            kind, count, storage = getattr(torch, obj._pickle_storage_type()), obj._size(), obj._untyped_storage
        elif isinstance(obj, torch.UntypedStorage):
            kind, count, storage = torch.UntypedStorage, obj.nbytes(), obj
        else:
            return None
        return "storage", kind, str(self._numbers[storage._cdata]), "cpu", count


def _name_of(number: int) -> str:
    return f"{_ROOT}/data/{number}"


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def _header(name: str, size: int, padding: int) -> bytes:
    wide = struct.pack("<HHQQ", 1, 16, size, size) if size >= _MOST else b""
    extra = wide + struct.pack("<HH", _PADDING, padding) + bytes(padding)
    short = min(size, _MOST)
    return struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0, 0, 0, 0, 0, short, short, len(name), len(extra)) + name.encode() + extra


def _entry(name: str, size: int, at: int) -> bytes:
    wide = [number for number, is_wide in ((size, size >= _MOST), (size, size >= _MOST), (at, at >= _MOST)) if is_wide]
    extra = struct.pack(f"<HH{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
    short, place = min(size, _MOST), min(at, _MOST)
    fixed = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 45, 0, 0, 0, 0, 0, short, short, len(name), len(extra), 0, 0, 0, 0, place)
    return fixed + name.encode() + extra


def _ending(start: int, length: int, count: int) -> bytes:
    """The end of the directory, always with its wide form in front, so that there is one form."""
    wide = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, length, start)
    where = struct.pack("<IIQI", 0x07064B50, 0, start + length, 1)
    few = min(count, 0xFFFF)
    return wide + where + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, few, few, min(length, _MOST), min(start, _MOST), 0)
