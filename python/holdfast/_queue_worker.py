"""A worker: its leases, its results, and the threads that keep its leases."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from typing import Any, Dict, List, Optional, Tuple
from urllib.parse import quote, urlencode

from ._queue_client import Client, QueueError, Unreachable

#: The most characters of a result in a log.
_TOLD_CHARACTERS = 200
log = logging.getLogger("holdfast")

#: A finished result waits at most this long for others before it is committed.
FLUSH_SECONDS = 0.2
_TICK_SECONDS = 0.05
_WAIT_SECONDS = 20
_REQUEST_SECONDS = 30.0
_FIRST_RENEW_SECONDS = 2.0
#: How much one request hands in: a server takes eight of its largest results at once, and a
#: megabyte beside them.
_MOST_ENTRIES = 500
_LEAST_BUDGET = 500_000


class Worker:
    """One worker of one queue. The main thread takes turns; two daemon threads keep its leases."""

    def __init__(self, queue: str, url: Optional[str], token_file: Optional[str], grace: float) -> None:
        self._path = f"/v1/queues/{quote(queue, safe='')}/turn"
        self._make_client = lambda: Client(url, token_file)
        self._client = self._make_client()
        host = socket.gethostname()
        node = os.environ.get("NODE_NAME") or os.environ.get("HOLDFAST_NODE") or host
        process = f"{os.environ.get('POD_NAME') or host}/{os.getpid()}"
        self.session = {"id": str(uuid.uuid4()), "node": node[:200], "process": process[:200]}
        self.grace = grace
        #: Why the worker is about to end; None while it works.
        self.notice: Optional[str] = None
        self._noticed_at = 0.0
        self._held: Dict[int, int] = {}
        self._begun: Dict[int, float] = {}
        self._commits: List[Dict[str, Any]] = []
        self._fails: List[Dict[str, Any]] = []
        self._progress: Dict[int, Dict[str, Any]] = {}
        self._oldest = 0.0
        #: The longest result or progress that the server takes, in characters; None until it has
        #: said so.
        self._item_length: Optional[int] = None
        self._lock = threading.Lock()
        self._turn_lock = threading.Lock()
        self._is_idle = False
        self._is_over = False
        self._renew_seconds = _FIRST_RENEW_SECONDS

    def start(self) -> None:
        for target in (self._hold_connection, self._renew):
            threading.Thread(target=target, name="holdfast-queue", daemon=True).start()

    def stop(self, notice: str) -> None:
        """Records a notice; safe in a signal handler."""
        if self.notice is None:
            self._noticed_at = time.monotonic()
            self.notice = notice

    # What the main thread does with an item.

    def is_held(self, item: int, token: int) -> bool:
        return self._held.get(item) == token

    def begin_all(self, items: List[Any]) -> List[Any]:
        """Starts those of these items that this worker still holds; none after a notice."""
        with self._lock:
            if self.notice is not None:
                return []
            begun = [item for item in items if self._held.get(item.number) == item.token]
            for item in begun:
                self._begun[item.number] = time.monotonic()
            return begun

    def check_length(self, what: str, text: str) -> None:
        """Raises ValueError for a text that the server would refuse."""
        if self._item_length is not None and len(text) > self._item_length:
            raise ValueError(
                f"the {what} has {len(text)} characters, and the server takes at most {self._item_length}: "
                "write it with item.save, or start the server with a larger --max-item"
            )

    def refuse(self, lease: Dict[str, Any], error: str) -> None:
        """Reports a failed try of an item that cannot even be started."""
        with self._lock:
            self._held[lease["item"]] = lease["token"]
        self.fail(lease["item"], lease["token"], error)

    def commit(self, item: int, token: int, generation: int, result: str) -> None:
        with self._lock:
            self._commits.append({"item": item, "token": token, "generation": generation, "result": result})
            self._handed_in(item)

    def fail(self, item: int, token: int, error: str) -> None:
        with self._lock:
            self._fails.append({"item": item, "token": token, "error": error[:8000].replace("\0", "")})
            self._handed_in(item)

    def progress(self, item: int, token: int, state: str) -> None:
        with self._lock:
            self._progress[item] = {"item": item, "token": token, "state": state}
            self._oldest = self._oldest or time.monotonic()

    def lease(self, most: int, fit: bool) -> Dict[str, Any]:
        """Commits finished items, and waits for the next ones. Returns none after a notice."""
        while self.notice is None:
            # Finished results do not wait for new items.
            has_work = self._has_work()
            body = {"lease": {"most": most, "fit": fit}, "waitSeconds": 0 if has_work else _WAIT_SECONDS}
            self._is_idle = not has_work
            try:
                answer = self._turn(body)
            except Unreachable:
                if self.notice is not None:
                    break
                raise
            finally:
                self._is_idle = False
            if answer["leases"] or answer["drained"]:
                with self._lock:
                    for lease in answer["leases"]:
                        self._held[lease["item"]] = lease["token"]
                return answer
        return {"leases": [], "drained": False}

    def flush(self) -> None:
        """Commits finished items."""
        if self._has_work():
            self._turn({})

    def end(self) -> None:
        """Commits finished items, and gives all others back at once."""
        if self._is_over:
            return
        try:
            self._turn({"releases": self._take_releases(lambda item: True), **self._told()})
        except (QueueError, Unreachable) as error:
            log.warning("holdfast: could not give the leases back, they end by themselves: %s", error)
        self._is_over = True
        self._client.close()

    def _handed_in(self, item: int) -> None:
        self._held.pop(item, None)
        self._begun.pop(item, None)
        self._progress.pop(item, None)
        self._oldest = self._oldest or time.monotonic()

    def _has_work(self) -> bool:
        return bool(self._commits or self._fails or self._progress)

    def _told(self) -> Dict[str, Any]:
        return {} if self.notice is None else {"notice": self.notice}

    def _take_releases(self, which: Any) -> List[Dict[str, Any]]:
        now = time.monotonic()
        with self._lock:
            items = [item for item in self._held if which(item)]
            return [
                {"item": item, "token": self._held.pop(item), "spentMs": int(1000 * (now - self._begun.pop(item, now)))}
                for item in items
            ]

    def _turn(self, body: Dict[str, Any]) -> Dict[str, Any]:
        """Takes one turn, and retries until the server answers: a commit may be repeated."""
        with self._turn_lock:
            while True:
                handed, is_all = self._take()
                # What does not fit into one request goes before it.
                answer = self._hand_in(handed, body if is_all else self._told())
                if is_all:
                    return answer

    def _take(self) -> Tuple[Dict[str, List[Dict[str, Any]]], bool]:
        """Takes as much of the finished work as one request may hold; says whether it is all."""
        budget = max(_LEAST_BUDGET, 3 * (self._item_length or 0))
        with self._lock:
            waiting = [("commits", one, len(one["result"])) for one in self._commits]
            waiting += [("fails", one, 6 * len(one["error"])) for one in self._fails]
            waiting += [("progress", one, len(one["state"])) for one in self._progress.values()]
            handed: Dict[str, List[Dict[str, Any]]] = {"commits": [], "fails": [], "progress": []}
            count = 0
            for kind, one, cost in waiting:
                budget -= cost
                if count == _MOST_ENTRIES or (count > 0 and budget < 0):
                    break
                handed[kind].append(one)
                count += 1
            self._commits = self._commits[len(handed["commits"]) :]
            self._fails = self._fails[len(handed["fails"]) :]
            for one in handed["progress"]:
                del self._progress[one["item"]]
            is_all = count == len(waiting)
            if is_all:
                self._oldest = 0.0
        return handed, is_all

    def _hand_in(self, handed: Dict[str, List[Dict[str, Any]]], body: Dict[str, Any]) -> Dict[str, Any]:
        commits = handed["commits"]
        try:
            answer = self._insist({"session": self.session, **handed, **body})
        except BaseException:
            with self._lock:
                self._commits = commits + self._commits
                self._fails = handed["fails"] + self._fails
            raise
        self._renew_seconds = answer.get("renewMs", 1000 * self._renew_seconds) / 1000
        self._item_length = answer.get("itemLength", self._item_length)
        for commit, told in zip(commits, answer["commits"]):
            if told["verdict"] in ("fenced", "differs"):
                log.warning("holdfast: the result of item %s came too late (%s); %s", commit["item"], told["verdict"], _standing(told))
        return answer

    def _insist(self, request: Dict[str, Any]) -> Dict[str, Any]:
        pause = 0.1
        timeout = _REQUEST_SECONDS + request.get("waitSeconds", 0)
        while True:
            try:
                return self._client.ask(self._path, request, timeout)
            except Unreachable as error:
                if self.notice is not None and (self._is_idle or time.monotonic() > self._noticed_at + self.grace):
                    raise
                log.info("holdfast: %s; trying again", error)
            time.sleep(pause)
            pause = min(5.0, pause * 2)

    # The threads beside it.

    def _hold_connection(self) -> None:
        """Keeps the connection that shows the server that the worker is alive."""
        query = urlencode({"node": self.session["node"], "process": self.session["process"]})
        path = f"/v1/sessions/{self.session['id']}?{query}"
        while not self._is_over:
            client = self._make_client()
            try:
                for _ in client.lines(path, 15.0):
                    if self._is_over:
                        return
            except (QueueError, Unreachable, OSError):
                pass
            time.sleep(0.3)

    def _renew(self) -> None:
        """Renews leases, commits results that waited long enough, and at a notice gives back items that were not started."""
        client = self._make_client()
        last = time.monotonic()
        has_given_back = False
        while not self._is_over:
            time.sleep(_TICK_SECONDS)
            try:
                if self.notice is not None and not has_given_back:
                    has_given_back = True
                    if self._is_idle:
                        self._client.interrupt()
                    self._turn({"releases": self._take_releases(lambda item: item not in self._begun), **self._told()})
                if self._oldest and time.monotonic() - self._oldest > FLUSH_SECONDS and not self._turn_lock.locked():
                    self.flush()
                if self._held and time.monotonic() - last >= self._renew_seconds:
                    last = time.monotonic()
                    self._renew_once(client)
            except (QueueError, Unreachable, OSError) as error:
                log.info("holdfast: %s", error)

    def _renew_once(self, client: Client) -> None:
        with self._lock:
            leases = [{"item": item, "token": token} for item, token in self._held.items()]
        answer = client.ask("/v1/renew", {"session": self.session["id"], "leases": leases}, _REQUEST_SECONDS)
        for lost in answer["lost"]:
            with self._lock:
                if self._held.get(lost["item"]) == lost["token"]:
                    del self._held[lost["item"]]
                    log.warning("holdfast: the lease of item %s was lost; another worker may have it", lost["item"])


def _standing(told: Dict[str, Any]) -> str:
    """Which result stands instead, for a log."""
    standing = told.get("standing")
    if standing is None:
        return "a newer lease has the item"
    return f"this one stands: {standing if len(standing) <= _TOLD_CHARACTERS else standing[:_TOLD_CHARACTERS] + '…'}"
