"""The store of big results: written durably first, and then committed as a reference."""

from __future__ import annotations

import hashlib
import os
import tempfile
from typing import Optional, Protocol
from urllib.parse import quote


class ResultStore(Protocol):
    """Keeps bytes and names them."""

    def save(self, key: str, generation: int, data: bytes, suffix: str) -> dict:
        """Keeps the bytes durably; equal bytes of the same item have the same name, so that a second commit of them is no other result."""


def open_store(place: Optional[str]) -> Optional[ResultStore]:
    """A folder, or ``s3://bucket/prefix``."""
    if place is None:
        return None
    if place.startswith("s3://"):
        from ._queue_s3 import S3Store

        return S3Store(place)
    return FolderStore(place)


def object_name(key: str, generation: int, digest: str, suffix: str) -> str:
    """A name that is safe in any file system: the item by its hash, then its content."""
    if not all(part.isalnum() for part in suffix.replace("_", "").replace("-", "").split(".") if part):
        raise ValueError(f"{suffix!r} is not the end of a file name")
    item = hashlib.sha256(key.encode()).hexdigest()[:24]
    return f"{item[:2]}/{item}.{generation}.{digest[:24]}{suffix}"


class FolderStore:
    """Files below a folder that all workers share."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.abspath(folder)
        os.makedirs(self._folder, exist_ok=True)

    def save(self, key: str, generation: int, data: bytes, suffix: str) -> dict:
        digest = hashlib.sha256(data).hexdigest()
        name = object_name(key, generation, digest, suffix)
        path = os.path.join(self._folder, *name.split("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # Under a temporary name until it is complete: readers never see a partial file.
        with tempfile.NamedTemporaryFile(dir=os.path.dirname(path), prefix=".", delete=False) as file:
            try:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise
        for folder in (os.path.dirname(path), self._folder):
            _sync(folder)
        return {"ref": f"file://{quote(path)}", "bytes": len(data), "sha256": digest}


def _sync(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
