"""Records which files of a save this rank has made.

All ranks write into one folder. If two of them make a file of the same name, it holds a mixture, or
only what one of them wrote. Either loads without an error. So the supervisor compares the names of
all ranks before it seals anything.

Python reports every file that it opens, renames or links. ``torch.save`` and safetensors bypass
Python, so their entry points are wrapped. Files that other libraries open past Python, or that
other processes write, stay unknown.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from pathlib import Path
from typing import Any, Callable, Optional, Set, Tuple

_MOST = 100_000
"""The most names that are reported."""
_PAST_PYTHON = (
    ("torch.serialization", "_open_zipfile_writer", 0),
    ("safetensors.torch", "serialize_file", 1),
    ("safetensors.numpy", "serialize_file", 1),
)
"""Functions that write a file by other means: their module and name, and which argument is the
path."""

_BY_ALL = {"scaler.pt": "accelerate.checkpointing"}
"""Files that a framework lets every rank write with the same content, so that they are no mixture,
and the framework's module. The gradient scaler follows from what all ranks have found together."""

_current: Optional[Written] = None
"""A process writes one save at a time."""
_is_listening = False


class Written:
    """The names made below a folder, from now until :meth:`stop`."""

    def __init__(self, folder: Path) -> None:
        global _current
        # A path with its links resolved leads there too.
        self._roots = tuple({os.path.join(root, "") for root in (os.path.abspath(folder), os.path.realpath(folder))})
        self.names: Set[str] = set()
        _listen()
        _current = self

    def stop(self) -> None:
        global _current
        if _current is self:
            _current = None

    def note(self, path: Any) -> None:
        if not isinstance(path, (str, bytes, os.PathLike)) or len(self.names) >= _MOST:
            return
        whole = os.path.abspath(os.fsdecode(path))
        if _is_by_all(whole):
            return
        for root in self._roots:
            if whole.startswith(root):
                self.names.add(whole[len(root) :])
                return

    def tell(self, file: str) -> None:
        """Writes the names to this file, all of them or none."""
        begun = f"{file}.tmp"
        Path(begun).write_text(json.dumps(sorted(self.names)))
        os.replace(begun, file)


def _listen() -> None:
    """Also wraps functions that were imported since the last save."""
    global _is_listening
    if not _is_listening:
        sys.addaudithook(_hear)
        _is_listening = True
    for module, name, place in _PAST_PYTHON:
        found = sys.modules.get(module)
        function = getattr(found, name, None)
        if function is not None and not hasattr(function, "_holdfast_tells"):
            setattr(found, name, _telling(function, place))


def _hear(event: str, args: Tuple[Any, ...]) -> None:
    """Opens must never fail because of an error here."""
    written = _current
    if written is None:
        return
    try:
        if event == "open":
            # A file that is appended to, or changed in place, is shared on purpose.
            if args[2] & (os.O_TRUNC | os.O_EXCL):
                written.note(args[0])
        elif event in ("os.rename", "os.link"):
            written.note(args[1])
    except Exception:
        return


def _is_by_all(path: str) -> bool:
    module = _BY_ALL.get(os.path.basename(path))
    frame = None if module is None else sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") != module:
        frame = frame.f_back
    return frame is not None


def _telling(function: Callable[..., Any], place: int) -> Callable[..., Any]:
    @functools.wraps(function)
    def tells(*args: Any, **more: Any) -> Any:
        written = _current
        if written is not None and len(args) > place:
            written.note(args[place])
        return function(*args, **more)

    tells._holdfast_tells = True  # type: ignore[attr-defined]
    return tells
