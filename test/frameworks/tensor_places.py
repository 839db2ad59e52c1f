"""Where the values of a checkpoint lie in its files, found without any reader of the format.

    python tensor_places.py LOADER FIXTURE_DIR...

Each fixture is loaded with the real loader; the raw bytes of what it returned are searched for in the fixture's
files. Where values are stored compressed, the compressed bytes are searched for instead: tensorstore hands them out
of an OCDBT database, zipfile tells where an entry's lie. A place counts only when the loader notices a bit that is
flipped there, by other values or by an error. Prints one JSON line per fixture, longest place first, one for each
file: {"id", "places": [{"file", "offset", "length"}]}.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import shutil
import struct
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any, Callable, Iterator

sys.path[:0] = [str(Path(__file__).resolve().parent)]
from common import _array_bytes, _load_in_child, _state_of

WINDOW = 32
MIN_DISTINCT = 8

Place = tuple[int, int]


def main(loader: str, folders: list[str]) -> None:
    load = importlib.import_module(f"loaders.{loader}").load
    for folder in map(Path, folders):
        fixture = json.loads((folder / "fixture.json").read_text())
        values = in_child(lambda: stored_values(load, folder, folder / fixture["path"]))
        places = []
        for file in sorted((folder / "data").rglob("*")):
            if not file.is_file() or file.is_symlink():
                continue
            place = longest_run(file.read_bytes(), values) or largest_compressed_entry(file)
            if place:
                places.append({"file": str(file.relative_to(folder)), "offset": place[0], "length": place[1]})
        places = [place for place in places if is_live(load, folder, fixture, place)]
        places.sort(key=lambda place: -place["length"])
        print(json.dumps({"id": fixture["id"], "places": places}), flush=True)


def in_child(work: Callable[[], Any]) -> Any:
    """What work() returns in a forked child: several frameworks cannot fork once they have loaded something."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with os.fdopen(write_end, "wb") as pipe:
                pickle.dump(work(), pipe)
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        reply = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(reply)


def stored_values(load: Any, folder: Path, path: Path) -> list[bytes]:
    arrays = list(arrays_in(load(str(path))))
    # Plain bytes are mostly states of random generators, which are no weights.
    values = [data for name, data in arrays if not name.startswith("uint8")] or [data for _, data in arrays]
    return values + values_in_ocdbt(folder)


def is_live(load: Any, folder: Path, fixture: dict[str, Any], place: dict[str, Any]) -> bool:
    """True when the loader's answer changes with a bit in the middle of the place."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "copy"
        shutil.copytree(folder, copy, symlinks=True)
        content = bytearray((copy / place["file"]).read_bytes())
        content[place["offset"] + place["length"] // 2] ^= 1
        (copy / place["file"]).write_bytes(content)
        return _load_in_child(load, str(copy / fixture["path"])).get("digest") != fixture["digest"]


def arrays_in(value: Any, depth: int = 0) -> Iterator[tuple[str, bytes]]:
    """Type with shape, and bytes, of every array in a nested value; of a matrix also in column order."""
    array = _array_bytes(value)
    if array is not None:
        yield array
        if hasattr(value, "flags") and getattr(value, "ndim", 0) > 1:
            yield array[0], value.tobytes("F")
    elif isinstance(value, dict):
        for item in value.values():
            yield from arrays_in(item, depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from arrays_in(item, depth + 1)
    elif not isinstance(value, (str, bytes, int, float, complex, type(None))) and depth < 20:
        yield from arrays_in(_state_of(value), depth + 1)


def values_in_ocdbt(folder: Path) -> list[bytes]:
    """Chunks of arrays as they are stored, read by tensorstore from every OCDBT database below the folder."""
    values = []
    for manifest in sorted(folder.rglob("manifest.ocdbt")):
        import tensorstore

        place = {"driver": "ocdbt", "base": f"file://{manifest.parent.absolute()}/"}
        database = tensorstore.KvStore.open(place).result()
        keys = [key for key in database.list().result() if not key.endswith((b".zarray", b"zarr.json"))]
        values += [bytes(database.read(key).result().value) for key in keys]
    return values


def longest_run(content: bytes, values: list[bytes]) -> Place | None:
    """Windows of few distinct bytes could lie anywhere, so they start no run."""
    best: Place | None = None
    for value in values:
        position = 0
        while position + WINDOW <= len(value):
            window = value[position : position + WINDOW]
            found = content.find(window) if len(set(window)) >= MIN_DISTINCT else -1
            if found < 0:
                position += WINDOW
                continue
            length = common_prefix(content, found, value, position)
            if best is None or length > best[1]:
                best = (found, length)
            position += max(WINDOW, length)
    return best


def common_prefix(content: bytes, offset: int, value: bytes, position: int) -> int:
    longest = min(len(content) - offset, len(value) - position)
    pairs = zip(content[offset : offset + longest], value[position : position + longest])
    return next((index for index, (a, b) in enumerate(pairs) if a != b), longest)


def largest_compressed_entry(file: Path) -> Place | None:
    if not zipfile.is_zipfile(file):
        return None
    with zipfile.ZipFile(file) as archive:
        compressed = [entry for entry in archive.infolist() if entry.compress_type != zipfile.ZIP_STORED]
    if not compressed:
        return None
    entry = max(compressed, key=lambda candidate: candidate.compress_size)
    header = file.read_bytes()[entry.header_offset : entry.header_offset + 30]
    name_length, extra_length = struct.unpack("<HH", header[26:30])
    return entry.header_offset + 30 + name_length + extra_length, entry.compress_size


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
