"""One training run as its loop sees it."""

from __future__ import annotations

import atexit
import contextlib
import logging
import threading
from pathlib import Path
from time import monotonic
from typing import Any, Callable, Iterator, List, Mapping, Optional, Union

from ._agreement import Held
from ._connection import Message
from ._counter import no_counter, open_counter
from ._due_save import DueSave
from ._progress import step_line
from ._rank import Rank, number
from ._save_block import SaveBlock
from ._supervisor import Supervisor
from ._together import Together

log = logging.getLogger("holdfast")

_REPORT_SECONDS = 0.5
"""The shortest time between two progress reports, so that a step costs well under 10 µs."""
_RANKS_REPORT_SECONDS = 0.25
"""The same for several ranks. The supervisor may have to name a step that is ahead of all of them,
so it must know better where they are."""
_AGAIN_SECONDS = 0.2
"""How long to wait before checking once more whether a requested step has passed."""


class Run:
    """What :func:`attach` returns. Call its methods on one thread only: the one that trains."""

    def __init__(self, who: Rank) -> None:
        # Most steps touch only these three, so they lie together. First the time from which a step
        # looks closer: 0 while a save may be due, otherwise the time of the next report. Then the
        # newest step at which no save can start any more. Then the counter that the supervisor
        # reads after a kill.
        self._look_at = 0.0
        self._passed = -1
        self._counter = no_counter()
        self._who = who
        self._supervisor = Supervisor(who)
        self._together = Together(self._supervisor.offer, self._forget_asked)
        self._due_save = DueSave(self._supervisor, self._together, self._tell_last)
        # What the open busy blocks say, the innermost last.
        self._doing: List[str] = []
        # Writes the state into a folder, if the trainer has named what does.
        self._final_save: Optional[Callable[[Path], object]] = None
        self._lost_reason: Optional[str] = None
        self._next_report = 0.0
        self._latest = -1
        self._reported = -1
        self.attempt: Optional[int] = None
        """The number of this attempt; None outside the supervisor."""
        self.last_sealed: Optional[int] = None
        """The newest step that is known to be sealed."""

    @property
    def is_attached(self) -> bool:
        """True while a supervisor listens."""
        return self._supervisor.is_open

    def resume(self, load: Callable[[Path], object]) -> int:
        """Calls ``load`` with the folder of the last good checkpoint.

        Returns the step to continue with; 0 when there is no checkpoint.

        If torch.distributed is initialised, the ranks first make sure that all of them resume from
        the same checkpoint, and raise if they cannot. If each node has a run of its own, all ranks
        resume from the newest step that every node holds.
        """
        supervisor = self._supervisor
        if self._who.world > 1 and supervisor.is_expected:
            held = supervisor.resume or {}
            mine = Held(supervisor.run_id, held.get("step"), str(held.get("save", "")))
            supervisor.resume = self._together.agree_resume(mine, supervisor.steps, supervisor.take_checkpoint) or supervisor.resume
        self._final_save = getattr(getattr(load, "__self__", None), "_final_save", None)
        if supervisor.resume is None:
            return 0
        load(Path(supervisor.resume["path"]))
        return int(supervisor.resume["step"]) + 1

    def step(self, step: int, **metrics: Any) -> bool:
        """Reports that a step is done. True means that a save is due: enter a save block next.

        With several ranks, all of them get the same answer at the same step. Metrics are numbers
        for the log.
        """
        # Nearly every step ends here. Keep it this short: caches are cold between two steps, and
        # each call costs microseconds.
        if type(step) is int and monotonic() < self._look_at:
            try:
                self._passed = self._counter[0] = step
            except (OverflowError, ValueError):
                self._counter = no_counter()
            return False
        # A NumPy number or a tensor counts as a step number too, here as in save().
        return self._look(int(step), metrics)

    def report(self, **metrics: Any) -> None:
        """Reports metrics of the newest step at once, such as the ``loss`` of an evaluation.

        The metrics of ``step`` are only reported a few times a minute.
        """
        self._report(max(self._latest, self._passed), metrics, monotonic())

    def save(self, step: int) -> SaveBlock:
        """A block whose folder becomes the checkpoint of this step if it ends without an error.

        The folder is private until then. Afterwards the supervisor makes it durable while training
        continues. Outside the supervisor, or when the supervisor refuses, the folder is temporary
        and is deleted.
        """
        return SaveBlock(self._due_save, int(step))

    @contextlib.contextmanager
    def busy(self, what: str = "busy") -> Iterator[None]:
        """A block without steps that may take long (evaluation, compilation): the supervisor
        suspects no hang meanwhile, on any rank."""
        # Report the last step first: reported later, it would look like a step inside the block.
        self._tell_last()
        self._doing.append(what)
        self._supervisor.offer({"type": "busy", "what": what})
        try:
            yield
        finally:
            self._doing.pop()
            self._supervisor.offer({"type": "busy", "what": self._doing[-1] if self._doing else None})

    def finish(self, save: Union[bool, Callable[[Path], object]] = True) -> None:
        """Declares the run finished. Only this, or an ordinary exit with 0, completes a run.

        If the last save is older than the last step, the state is saved once more. This needs
        ``run.resume(state.load)`` with a :class:`holdfast.torch.State`, or ``save``: a function
        that writes into the folder it is given, on every rank. ``save=False``: save nothing.
        """
        self._together.settle()
        connection = self._supervisor.connection
        if connection is None or not connection.is_open:
            return
        # A save may still be written in the background.
        self._due_save.has_written(connection, None)
        latest = max(self._latest, self._passed)
        writer = self._final_save if save is True else save
        if callable(writer) and latest > self._due_save.last_written:
            with self.save(latest) as folder:
                writer(folder)
        if not connection.is_open:
            return
        self._due_save.has_written(connection, None)
        self._tell_last()
        self._supervisor.finish()

    # The rest is internal.

    def _look(self, step: int, metrics: Mapping[str, Any]) -> bool:
        """The rare part of a step: reports progress, and checks whether a save is due."""
        self._latest = step
        self._count(step)
        now = monotonic()
        if now >= self._next_report:
            self._report(step, metrics, now)
        save = self._due_save
        if save.watch and save.is_due(step):
            return True
        self._passed = step
        # In this order, a request from the reading thread is never lost.
        self._look_at = self._next_report
        if save.watch:
            self._look_at = 0.0
        return False

    def _count(self, step: int) -> None:
        try:
            self._counter[0] = step
        except (OverflowError, ValueError):
            # Not a number of 64 bits: the supervisor will not count it either.
            self._counter = no_counter()

    def _look_closer(self) -> None:
        self._due_save.watch = True
        self._look_at = 0.0

    def _take_environment(self, settings: Mapping[str, str]) -> None:
        """Reads the settings that the trainer was started with."""
        self._supervisor.take_environment(settings)
        local = number(settings.get("LOCAL_WORLD_SIZE"))
        self._together.is_spread = self._who.rank == 0 and local is not None and local < self._who.world
        # Even without an answer this rank takes part in agreements: the others would wait for it.
        self._due_save.watch = self._who.world > 1

    def _connect(self, path: str) -> None:
        welcome = self._supervisor.connect(path, self._on_push)
        if welcome is None:
            return
        self._together.welcome(welcome.get("everySteps"))
        self._counter = open_counter(welcome.get("counter"))
        self.attempt = self._supervisor.attempt
        if self._together.every is not None or self._due_save.asked is not None or self._who.world > 1:
            self._look_closer()
        atexit.register(self._tell_last)

    def _on_push(self, message: Message) -> None:
        """Handles a message that answers no question; called on the reading thread."""
        kind = message.get("type")
        if kind == "save":
            at = message.get("at")
            self._due_save.asked = "next" if at is None else at
            self._look_closer()
            if at is not None and not self._say_if_passed(at):
                # A step may be running right now that did not see the request: check once more.
                again = threading.Timer(_AGAIN_SECONDS, self._say_if_passed, [at])
                again.daemon = True
                again.start()
        elif kind == "relax":
            self._forget_asked()
        elif kind == "sealed":
            self.last_sealed = message.get("step")
        elif kind == "lost":
            # Each rank hears it, and again with every save: report a reason once.
            if self._who.rank == 0 and message.get("reason") != self._lost_reason:
                log.error("the checkpoint was not kept: %s", message.get("reason"))
            self._lost_reason = message.get("reason")
        elif kind == "folder":
            reason = "the trainer has stopped waiting for the folder"
            self._supervisor.offer({"type": "failed", "save": message.get("save"), "reason": reason})

    def _forget_asked(self) -> None:
        self._due_save.asked = None

    def _say_if_passed(self, at: int) -> bool:
        """Reports a requested step that has passed, even while the trainer is in a collective.

        Other ranks may wait for this rank at that step, while it waits for them.
        """
        passed = self._passed
        if self._due_save.asked != at or passed < at:
            return False
        self._forget_asked()
        self._supervisor.offer({"type": "late", "at": at, "step": passed})
        return True

    def _report(self, step: int, metrics: Mapping[str, Any], now: float) -> None:
        self._next_report = now + (_RANKS_REPORT_SECONDS if self._who.world > 1 else _REPORT_SECONDS)
        self._reported = step
        connection = self._supervisor.connection
        if connection is not None and connection.is_open:
            connection.offer_line(step_line(step, metrics))

    def _tell_last(self) -> None:
        """Reports the newest step, before a message that depends on it."""
        latest = max(self._latest, self._passed)
        if latest > self._reported:
            self._report(latest, {}, monotonic())

    def _leave(self, who: Rank) -> None:
        """Detaches: the process turns out to be another rank, and must not count as both."""
        before = self._who
        log.warning("rank %d of %d has attached as rank %d of %d before; that run is detached", who.rank, who.world, before.rank, before.world)
        self._counter = no_counter()
        if self._supervisor.connection is not None:
            self._supervisor.connection.close()

    def _forget(self) -> None:
        """In a forked child: only the parent may speak to the supervisor and to the other ranks."""
        self._counter = no_counter()
        if self._supervisor.connection is not None:
            self._supervisor.connection.forget()
        self._together.forget()
        self._due_save.watch = False
