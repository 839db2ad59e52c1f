"""Connects to the supervisor, keeps what it said, and asks it what a run has to ask."""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional

from ._connection import PROTOCOL, Connection, Gone, Message
from ._rank import Rank, number
from ._stacks import register as register_stacks

log = logging.getLogger("holdfast")

_HELLO_SECONDS = 30.0
_FINISH_SECONDS = 30.0
_RESERVE_SECONDS = 10.0


class Supervisor:
    """The supervisor as a run knows it. Without one, every question is answered with None."""

    COMING_SECONDS = 5.0
    """How often a rank that waits for a folder reports to the other ranks; otherwise they would
    stop waiting for it."""

    def __init__(self, who: Rank) -> None:
        self.who = who
        self.connection: Optional[Connection] = None
        self.is_expected = False
        """True when the environment names a supervisor, even if it does not answer."""
        self.run_id = ""
        self.attempt: Optional[int] = None
        self.resume: Optional[Dict[str, Any]] = None
        """The checkpoint to resume from; None for a fresh start."""
        self.steps: List[int] = []
        """The steps of sealed checkpoints that a run could resume from instead."""
        self._can_reserve = False

    @property
    def is_open(self) -> bool:
        """True while a supervisor listens."""
        return self.connection is not None and self.connection.is_open

    def take_environment(self, settings: Mapping[str, str]) -> None:
        """Reads the checkpoint to resume from, as the trainer was started with it.

        It counts until the supervisor names a newer one, and if the supervisor does not answer. A
        rank that started fresh would lose all work, or mix with ranks that resume.
        """
        self.is_expected = True
        self.run_id = settings.get("HOLDFAST_RUN", "")
        path, step = settings.get("HOLDFAST_RESUME_PATH"), number(settings.get("HOLDFAST_RESUME_STEP"))
        if path and step is not None:
            self.resume = {"path": path, "step": step, "save": settings.get("HOLDFAST_RESUME_SAVE", "")}

    def connect(self, path: str, on_push: Callable[[Message], None]) -> Optional[Message]:
        """Connects and returns the welcome; None, with a warning, when nothing answers."""
        who = self.who
        try:
            connection = Connection(path, on_push)
            # The supervisor counts every connection as a rank: close one that was not welcomed.
            with contextlib.ExitStack() as undo:
                undo.callback(connection.close)
                hello = {"type": "hello", "protocol": PROTOCOL, "rank": who.rank, "world": who.world, "pid": os.getpid()}
                hello["dumpSignal"] = register_stacks()
                welcome = connection.ask(hello, timeout=_HELLO_SECONDS)
                undo.pop_all()
        except (OSError, Gone) as error:
            log.warning("HOLDFAST_SOCKET is set, but no supervisor answers at %s (%s); training goes on without it", path, error)
            return None
        if welcome.get("protocol") != PROTOCOL:
            log.warning("the supervisor speaks %s, this SDK %s; training goes on without it", welcome.get("protocol"), PROTOCOL)
            connection.close()
            return None
        self.connection = connection
        self.resume = welcome.get("resume")
        self.steps = [step for step in welcome.get("steps", []) if type(step) is int]
        self.run_id = str(welcome.get("run"))
        self.attempt = welcome.get("attempt")
        self._can_reserve = welcome.get("reserves") is True
        return welcome

    def offer(self, message: Message) -> None:
        """Sends a message that may be lost; never waits, never raises."""
        if self.connection is not None and self.connection.is_open:
            self.connection.offer(message)

    def take_checkpoint(self, step: int, agreed: bool, meanwhile: Callable[[], None]) -> Optional[Dict[str, Any]]:
        """The checkpoint of this step, if the supervisor finds every byte of it good.

        Once all ranks have agreed on it (``agreed``), newer checkpoints no longer count.
        """
        question = {"type": "take", "step": step, "agreed": agreed}
        answer = self._ask(question, self.COMING_SECONDS, meanwhile)
        return None if answer is None else answer.get("resume")

    def begin_save(
        self,
        step: int,
        is_linked: bool,
        meanwhile: Optional[Callable[[], None]] = None,
        beside: Optional[Callable[[], None]] = None,
    ) -> Optional[Message]:
        """Asks for the folder of a save. Call it on any thread; see :meth:`Connection.ask`."""
        question = {"type": "begin", "step": step, "linked": is_linked}
        return self._ask(question, self.COMING_SECONDS if meanwhile else None, meanwhile, beside)

    def reserve(self, size: int) -> Optional[Path]:
        """A folder in memory with room for a file of ``size`` bytes, from which saves are made.

        It replaces an earlier reservation; 0 only gives that up. None: there is no room, or no such
        memory.
        """
        if not self._can_reserve:
            return None
        reply = self._ask({"type": "reserve", "bytes": size}, _RESERVE_SECONDS)
        if reply is None:
            return None
        path = reply.get("path")
        if path is None and size > 0:
            log.warning("no memory is reserved for saves, so they are slower: %s", reply.get("reason"))
        return None if path is None else Path(str(path))

    def finish(self) -> None:
        """Declares the run finished, and waits for the answer."""
        self._ask({"type": "finish"}, _FINISH_SECONDS)

    def _ask(
        self,
        question: Message,
        timeout: Optional[float],
        meanwhile: Optional[Callable[[], None]] = None,
        beside: Optional[Callable[[], None]] = None,
    ) -> Optional[Message]:
        connection = self.connection
        if connection is None:
            return None
        try:
            return connection.ask(question, timeout, meanwhile, beside)
        except Gone:
            return None
