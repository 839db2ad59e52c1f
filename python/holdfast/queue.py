"""Batch inference on machines that vanish: items from a Holdfast queue, each with one result, written once.

    for item in holdfast.work("images"):        # leases, renews, stops at SIGTERM
        item.done(classify(item.value))         # written once, keyed by the item

Standard library only. The server is found by HOLDFAST_QUEUE_URL and HOLDFAST_QUEUE_TOKEN_FILE.
"""

from __future__ import annotations

import atexit
import json
import signal
import sys
import threading
import traceback
from typing import Any, Iterator, List, Optional, Union

from ._queue_client import QueueError, Unreachable
from ._queue_store import ResultStore, open_store
from ._queue_worker import Worker

__all__ = ["Item", "QueueError", "Unreachable", "work"]

#: How many items are leased ahead at most; the server leases fewer where items are long or
#: interruptions frequent.
_AHEAD = 100
#: An uncaught exception is reported at once; after this time an abandoned item goes to another
#: worker.
_UNCAUGHT_SECONDS = 0.5
#: The exit code of a worker after SIGTERM: interrupted, and nothing lost.
_INTERRUPTED = 143


class Item:
    """One item of the queue, leased to this worker.

    ``key`` and ``value`` are what was pushed. ``token`` grows with every lease of the item and fences older workers; ``generation`` counts
    how often the queue was computed anew. ``state`` is what the worker before left with ``progress``, or None.
    """

    def __init__(self, worker: Worker, lease: dict, store: Optional[ResultStore]) -> None:
        self._worker = worker
        self._store = store
        #: The number of the item on the server.
        self.number: int = lease["item"]
        self.key: str = lease["key"]
        self.value: Any = json.loads(lease["value"])
        self.token: int = lease["token"]
        self.generation: int = lease["generation"]
        self.tries: int = lease["tries"]
        self.state: Any = None if lease["progress"] is None else json.loads(lease["progress"])
        self._is_settled = False

    def done(self, result: Any = None) -> None:
        """Commits the result of the item, any JSON value, with the next request: at most a fifth of a second later."""
        text = _json(result)
        self._worker.check_length("result", text)
        self._settle()
        self._worker.commit(self.number, self.token, self.generation, text)

    def fail(self, error: Union[str, BaseException]) -> None:
        """Reports a failed try: the item is retried after a while, or has failed for good."""
        self._settle()
        self._worker.fail(self.number, self.token, _told(error))

    def progress(self, state: Any) -> None:
        """Stores the progress of the item, for the next worker if this one vanishes."""
        text = _json(state)
        self._worker.check_length("progress", text)
        self._worker.progress(self.number, self.token, text)

    def save(self, data: bytes, suffix: str = "") -> dict:
        """Writes a big result to the store of the worker, durably, and returns the reference to hand to ``done``."""
        if self._store is None:
            raise ValueError("there is no store: work(queue, store=FOLDER) or work(queue, store='s3://BUCKET/PREFIX') names one")
        return self._store.save(self.key, self.generation, data, suffix)

    @property
    def stopping(self) -> bool:
        """True after SIGTERM or another notice: save progress and leave the loop, or finish if that is quicker."""
        return self._worker.notice is not None

    @property
    def lost(self) -> bool:
        """True once another worker may have the item: a commit of this one may be refused."""
        return not self._is_settled and not self._worker.is_held(self.number, self.token)

    def __enter__(self) -> "Item":
        return self

    def __exit__(self, kind: Any, error: Optional[BaseException], _trace: Any) -> bool:
        """``with item:`` turns an exception into a failed try, and the loop continues with the next item."""
        if not isinstance(error, Exception):
            return False
        if not self._is_settled:
            self.fail(error)
        return True

    def _settle(self) -> None:
        if self._is_settled:
            raise RuntimeError(f"item {self.key!r} has its result or error already")
        self._is_settled = True

    def _left(self) -> None:
        """Marks that the loop has moved on to the next item."""
        if not self._is_settled and not self.stopping:
            self.fail("the worker continued without item.done or item.fail")


def work(
    queue: str,
    *,
    batch: Optional[int] = None,
    url: Optional[str] = None,
    token_file: Optional[str] = None,
    store: Optional[str] = None,
    grace: float = 20.0,
    forever: bool = False,
    exit: bool = True,
) -> Iterator[Any]:
    """Yields the items of a queue, or with ``batch`` lists of up to so many, until nothing is left to do (``forever``: for ever).

    At SIGTERM what is finished is committed, the rest given back at once, and the process ends with 143 when the item in work is done
    (``exit=False``: the loop just ends). An exception that nobody catches counts as a failed try of the item and ends the worker; with
    ``with item:`` around its work it counts as one, and the loop goes on.
    """
    if batch is not None and batch < 1:
        raise ValueError("batch is a number from 1")
    # All errors in the arguments are raised here, and not at the first item.
    return _items(Worker(queue, url, token_file, grace), batch, open_store(store), forever, exit)


def _items(worker: Worker, batch: Optional[int], store: Optional[ResultStore], forever: bool, exit: bool) -> Iterator[Any]:
    current: List[Item] = []
    with _Process(worker, current) as process:
        worker.start()
        try:
            while worker.notice is None:
                answer = worker.lease(batch or _AHEAD, batch is None)
                if answer["drained"] and not forever:
                    break
                items = [item for lease in answer["leases"] for item in _read(worker, lease, store)]
                # Items that must be alone come alone, even in batch mode.
                for group in [items] if batch else [[item] for item in items]:
                    current[:] = worker.begin_all(group)
                    if not current:
                        continue
                    yield list(current) if batch else current[0]
                    for item in current:
                        item._left()
                    current.clear()
        except GeneratorExit:
            process.leave()
            raise
        except BaseException:
            worker.end()
            raise
        worker.end()
    if exit and worker.notice is not None:
        raise SystemExit(_INTERRUPTED)


def _read(worker: Worker, lease: dict, store: Optional[ResultStore]) -> List[Item]:
    """The item of a lease. A value that Python cannot read, such as a number of 5000 digits, is a failed try, and no item."""
    try:
        return [Item(worker, lease, store)]
    except (ValueError, RecursionError) as error:
        worker.refuse(lease, f"the value cannot be read: {error}")
        return []


class _Process:
    """What the process is told while the loop runs: SIGTERM ends the worker; an exception that nobody catches is told of the items in work."""

    def __init__(self, worker: Worker, current: List[Item]) -> None:
        self._worker = worker
        self._current = current
        self._signal_before: Any = None
        self._hook_before: Any = None
        self._is_left = False
        self._is_main = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> "_Process":
        if self._is_main:
            self._signal_before = signal.signal(signal.SIGTERM, self._on_signal)
            self._hook_before, sys.excepthook = sys.excepthook, self._on_uncaught
        return self

    def leave(self) -> None:
        """The loop was left in the middle, by a break or by an exception: which of them is known only when nobody has caught it."""
        self._is_left = bool(self._current)
        if not self._is_left:
            self._worker.end()
            return
        atexit.register(self._worker.end)
        timer = threading.Timer(_UNCAUGHT_SECONDS, self._worker.end)
        timer.daemon = True
        timer.start()

    def __exit__(self, *_: Any) -> None:
        if not self._is_main:
            return
        if signal.getsignal(signal.SIGTERM) == self._on_signal:
            signal.signal(signal.SIGTERM, self._signal_before or signal.SIG_DFL)
        if sys.excepthook == self._on_uncaught and not self._is_left:
            sys.excepthook = self._hook_before

    def _on_signal(self, number: int, frame: Any) -> None:
        self._worker.stop("SIGTERM")
        if callable(self._signal_before):
            self._signal_before(number, frame)

    def _on_uncaught(self, kind: Any, error: BaseException, trace: Any) -> None:
        self._hook_before(kind, error, trace)
        for item in self._current:
            if isinstance(error, Exception) and not item._is_settled:
                item.fail(error)
        self._worker.end()


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def _told(error: Union[str, BaseException]) -> str:
    if isinstance(error, str):
        return error
    return "".join(traceback.format_exception(type(error), error, error.__traceback__, limit=-5)).strip()
