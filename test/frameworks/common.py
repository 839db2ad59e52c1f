"""What makers and loaders share: a digest over loaded values, the writer of fixture.json, the loaders' command line.

A maker is run as `python makers/NAME.py OUT_DIR` and writes OUT_DIR/<fixture id>/{fixture.json, data/...}.
A loader is run as `python loaders/NAME.py PATH`, or `--batch` with one path per line on standard input; it prints one
JSON line per path. This file needs the standard library alone, so that every family can import it.
"""

from __future__ import annotations

import hashlib
import json
import os
import select
import shutil
import signal
import sys
from pathlib import Path
from typing import Any, Callable

LOAD_SECONDS = 60

# A later save of the same training, under the names of the first: what other_step.sh asks for.
EXTRA_STEPS = int(os.environ.get("HOLDFAST_EXTRA_STEPS", "0"))

# ----------------------------------------------------------------------------------------------
# digest


def digest(value: Any) -> str:
    """SHA-256 over every value in a nested structure: keys, scalars, and each tensor's type, shape and bytes."""
    sha = hashlib.sha256()
    _feed(sha, value, set())
    return sha.hexdigest()


def _feed(sha: Any, value: Any, open_ids: set[int]) -> None:
    def put(tag: str, payload: bytes = b"") -> None:
        sha.update(f"{tag}:{len(payload)}:".encode())
        sha.update(payload)

    if value is None or isinstance(value, (bool, int, float, complex, str)):
        put(type(value).__name__, repr(value).encode("utf-8", "surrogatepass"))
        return
    if isinstance(value, (bytes, bytearray, memoryview)):
        put("bytes", bytes(value))
        return
    if id(value) in open_ids:
        put("cycle")
        return
    open_ids.add(id(value))
    try:
        array = _array_bytes(value)
        if array is not None:
            put("array", array[0].encode())
            put("data", array[1])
        elif isinstance(value, dict):
            put("dict", str(len(value)).encode())
            for key in sorted(value, key=lambda k: (type(k).__name__, repr(k))):
                _feed(sha, key, open_ids)
                _feed(sha, value[key], open_ids)
        elif isinstance(value, (list, tuple)):
            put("sequence", str(len(value)).encode())
            for item in value:
                _feed(sha, item, open_ids)
        elif isinstance(value, (set, frozenset)):
            put("set", repr(sorted(map(repr, value))).encode())
        else:
            put("object", f"{type(value).__module__}.{type(value).__qualname__}".encode())
            _feed(sha, _state_of(value), open_ids)
    finally:
        open_ids.discard(id(value))


def _array_bytes(value: Any) -> tuple[str, bytes] | None:
    """Type, shape and bytes of a torch tensor or of anything numpy understands; None for other values."""
    kind = type(value).__module__.split(".")[0]
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        if hasattr(value, "full_tensor"):
            value = value.full_tensor()
        elif hasattr(value, "local_shards"):
            shards = [_array_bytes(shard.tensor) for shard in value.local_shards()]
            return f"sharded {[name for name, _ in shards]}", b"".join(data for _, data in shards)
        flat = value.detach().cpu().contiguous()
        name = f"{flat.dtype} {tuple(flat.shape)}".replace("torch.", "")
        return name, bytes(flat.reshape(-1).view(torch.uint8).numpy()) if flat.numel() else b""
    if hasattr(value, "__array__") and (
        kind in ("numpy", "jax", "jaxlib", "ml_dtypes", "h5py", "tensorflow", "keras")
    ):
        import numpy

        array = numpy.ascontiguousarray(numpy.asarray(value))
        if array.dtype.hasobject:
            return None
        return f"{array.dtype} {array.shape}", array.tobytes()
    return None


def _state_of(value: Any) -> Any:
    """What an arbitrary object holds, free of addresses: its fields, its items, or else its name."""
    if isinstance(value, type) or callable(value):
        return getattr(value, "__qualname__", type(value).__qualname__)
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return value.tolist()
    if hasattr(value, "_asdict"):
        return value._asdict()
    fields = getattr(value, "__dict__", None)
    if fields:
        return dict(fields)
    text = repr(value)
    return type(value).__qualname__ if " at 0x" in text else text


# ----------------------------------------------------------------------------------------------
# fixtures


def start_fixture(out_dir: str | Path, fixture_id: str) -> Path:
    """An empty OUT_DIR/<id>/data, replacing an earlier one."""
    root = Path(out_dir) / fixture_id
    shutil.rmtree(root, ignore_errors=True)
    (root / "data").mkdir(parents=True)
    return root / "data"


def write_fixture(data: Path, *, load: Callable[[str], Any], **facts: Any) -> None:
    """Writes fixture.json beside data/, with the digest of what the real loader reads back.

    facts: maker, path (below data/), format, step, ranks, content (names of what is there), checksums, versions, and
    optionally note or deserves. The verdicts follow from content and checksums unless given.
    """
    content = {
        name: name in facts["content"] for name in ("weights", "optimizer", "scheduler", "rng", "step")
    }
    if content["weights"] and not content["optimizer"]:
        deserves = {"quick": "WEIGHTS_ONLY", "deep": "WEIGHTS_ONLY"}
    else:
        deserves = {"quick": "UNCHECKED", "deep": "RESUMABLE" if facts["checksums"] == "all" else "UNCHECKED"}
    target = data / facts["path"]
    record = {
        "id": data.parent.name,
        "maker": facts["maker"],
        "path": os.path.normpath(f"data/{facts['path']}"),
        "format": facts["format"],
        "step": facts["step"],
        "ranks": facts.get("ranks", 1),
        "content": content,
        "checksums": facts["checksums"],
        "deserves": facts.get("deserves", deserves),
        "digest": digest(load(str(target))),
        "versions": facts["versions"],
    }
    if "note" in facts:
        record["note"] = facts["note"]
    (data.parent / "fixture.json").write_text(json.dumps(record, indent=2) + "\n")


# ----------------------------------------------------------------------------------------------
# loaders


def loader_main(load: Callable[[str], Any]) -> None:
    """The command line of a loader: one path, or --batch with paths on standard input."""
    if sys.argv[1:] == ["--batch"]:
        for line in sys.stdin:
            if line.strip():
                print(json.dumps(_load_in_child(load, line.rstrip("\n"))), flush=True)
    elif len(sys.argv) == 2:
        print(json.dumps(_outcome(load, sys.argv[1])))
    else:
        sys.exit(f"usage: {sys.argv[0]} PATH | --batch")


def _outcome(load: Callable[[str], Any], path: str) -> dict[str, str]:
    try:
        return {"outcome": "loaded", "digest": digest(load(path))}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # torch's CheckpointException and SystemExit are no Exceptions
        first_line = (str(error).splitlines() or [""])[0][:300]
        return {"outcome": "error", "error": f"{type(error).__name__}: {first_line}"}


def _load_in_child(load: Callable[[str], Any], path: str) -> dict[str, str]:
    """One load in a forked child, so that a crash or a hang ends that load alone."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        os.dup2(2, 1)  # whatever the framework prints must not mix with our lines
        try:
            os.write(write_end, json.dumps(_outcome(load, path)).encode())
        finally:
            os._exit(0)
    os.close(write_end)
    try:
        answered = select.select([read_end], [], [], LOAD_SECONDS)[0]
        reply = os.read(read_end, 65536) if answered else b""
    finally:
        os.close(read_end)
    if not answered:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if not answered:
        return {"outcome": "hang"}
    return json.loads(reply) if reply else {"outcome": "crash"}
