"""One training run as its loop sees it."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import threading
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Union

from ._agreement import Held
from ._ballot import Given
from ._connection import PROTOCOL, Connection, Gone, Message
from ._progress import step_line
from ._rank import Rank, number
from ._save_block import Grant, SaveBlock
from ._stacks import register as register_stacks
from ._together import Together

log = logging.getLogger("holdfast")

_REPORT_SECONDS = 0.5
"""Progress is told at most this often: a step costs well under ten microseconds."""
_RANKS_REPORT_SECONDS = 0.25
"""With several ranks the supervisor may have to name a step that none of them has passed: it must know better where they are."""
_HELLO_SECONDS = 30.0
_FINISH_SECONDS = 30.0
_RESERVE_SECONDS = 10.0
_LOOK_SECONDS = 0.2
"""Who waits for a save in the background looks this often whether there is still somebody to keep it."""
_COMING_SECONDS = 5.0
"""Who waits for the folder of a save tells the other ranks this often that it does; they would not wait for it otherwise."""


class Run:
    """What :func:`attach` returns. Its methods are for one thread: the one that trains."""

    def __init__(self, who: Rank) -> None:
        # All that most steps touch, so that it lies together: from when on one looks closer, which is at once while somebody watches and else when
        # progress is due, and the newest step that no save can begin at any more.
        self._look_at = 0.0
        self._passed = -1
        self._who = who
        self._connection: Optional[Connection] = None
        self._resume: Optional[Dict[str, Any]] = None
        # The steps of sealed checkpoints that could be gone on from in its place.
        self._steps: List[int] = []
        self._run_id = ""
        self._is_supervised = False
        # True when a step has to look closer.
        self._watch = False
        # The save that was asked for: None, "next", or the number of a step. Set by the reading thread.
        self._asked: Union[None, str, int] = None
        self._granted: Optional[Grant] = None
        # A save that is due and whose folder is asked for while its bytes are on their way.
        self._due: Optional[int] = None
        # Cleared while a save is written on another thread than the one that trains.
        self._is_written = threading.Event()
        self._is_written.set()
        self._can_reserve = False
        # Who has reserved memory, and whether the saves are made of it.
        self._keeper: Optional[object] = None
        self._links = False
        # What the blocks that are open say that it is busy with, the innermost last.
        self._doing: List[str] = []
        # What was asked for was for all of them or for none; the supervisor names a step instead.
        self._together = Together(self._offer, self._forget_asked)
        self._parents: Optional[Together] = None
        self._next_report = 0.0
        self._latest = -1
        self._reported = -1
        self.attempt: Optional[int] = None
        """The number of this life of the run; None outside the supervisor."""
        self.last_sealed: Optional[int] = None
        """The newest step that is known to be sealed."""

    @property
    def is_attached(self) -> bool:
        """True while a supervisor listens."""
        return self._connection is not None and self._connection.is_open

    def resume(self, load: Callable[[Path], object]) -> int:
        """Calls ``load`` with the folder of the last good checkpoint; returns the step to go on with, 0 when there is none.

        Where torch.distributed is initialised the ranks first make sure that all of them go on from the same one, and raise
        when they cannot; nodes that have a run each go on from the newest step that all of them hold.
        """
        if self._who.world > 1 and self._is_supervised:
            held = self._resume or {}
            mine = Held(self._run_id, held.get("step"), str(held.get("save", "")))
            self._resume = self._together.agree_resume(mine, self._steps, self._take) or self._resume
        if self._resume is None:
            return 0
        load(Path(self._resume["path"]))
        return int(self._resume["step"]) + 1

    def step(self, step: int, **metrics: Any) -> bool:
        """Tells that a step is done; true when a save is due now, and then a save block must follow.

        With several ranks all of them get the same answer at the same step. Metrics are numbers for the log.
        """
        # Nearly always this is all. It must stay as little as this: between two steps the caches have gone cold, and each call costs microseconds.
        if type(step) is int and monotonic() < self._look_at:
            self._passed = step
            return False
        # A number of numpy or a tensor counts as one, here as at the save.
        return self._look(int(step), metrics)

    def save(self, step: int) -> SaveBlock:
        """A block whose folder becomes the checkpoint of this step when it is left without an error.

        The folder is private until then, and handed over afterwards: training goes on while it is made durable. Outside
        the supervisor, and when the supervisor refuses, it is a temporary one that is thrown away.
        """
        return SaveBlock(self, int(step))

    @contextlib.contextmanager
    def busy(self, what: str = "busy") -> Iterator[None]:
        """A block without steps that may take long (evaluation, compilation): no hang is suspected meanwhile, on any rank."""
        # A step that was made before and is told later would look like one that was made inside.
        self._tell_last()
        self._doing.append(what)
        self._offer({"type": "busy", "what": what})
        try:
            yield
        finally:
            self._doing.pop()
            self._offer({"type": "busy", "what": self._doing[-1] if self._doing else None})

    def finish(self) -> None:
        """The run is finished. Only after this word, or an ordinary exit with 0, it counts as complete."""
        self._together.settle()
        connection = self._connection
        if connection is None or not connection.is_open:
            return
        self._has_written(connection, None)
        self._tell_last()
        with contextlib.suppress(Gone):
            connection.ask({"type": "finish"}, timeout=_FINISH_SECONDS)

    # The rest is not for users.

    def _look(self, step: int, metrics: Mapping[str, Any]) -> bool:
        """What a step does when there may be something to do."""
        self._latest = step
        now = monotonic()
        if now >= self._next_report:
            self._report(step, metrics, now)
        if self._watch and self._is_due(step):
            return True
        self._passed = step
        # In this order: what is asked for meanwhile sets it again.
        self._look_at = self._next_report
        if self._watch:
            self._look_at = 0.0
        return False

    def _look_closer(self) -> None:
        self._watch = True
        self._look_at = 0.0

    def _take_environment(self, settings: Mapping[str, str]) -> None:
        """What the trainer was started with counts until the supervisor says something newer, and when it does not answer: a rank
        that started fresh instead would throw all work away, or mix with others that resume."""
        self._is_supervised = True
        self._run_id = settings.get("HOLDFAST_RUN", "")
        path, step = settings.get("HOLDFAST_RESUME_PATH"), number(settings.get("HOLDFAST_RESUME_STEP"))
        if path and step is not None:
            self._resume = {"path": path, "step": step, "save": settings.get("HOLDFAST_RESUME_SAVE", "")}
        local = number(settings.get("LOCAL_WORLD_SIZE"))
        self._together.is_spread = self._who.rank == 0 and local is not None and local < self._who.world
        # Without an answer it still takes part in what the ranks agree on: they would wait for it.
        self._watch = self._who.world > 1

    def _connect(self, path: str) -> None:
        who = self._who
        try:
            connection = Connection(path, self._on_push)
            # Whoever is connected counts as a rank: only one that was welcomed stays.
            with contextlib.ExitStack() as undo:
                undo.callback(connection.close)
                hello = {"type": "hello", "protocol": PROTOCOL, "rank": who.rank, "world": who.world, "pid": os.getpid()}
                hello["dumpSignal"] = register_stacks()
                welcome = connection.ask(hello, timeout=_HELLO_SECONDS)
                undo.pop_all()
        except (OSError, Gone) as error:
            log.warning("HOLDFAST_SOCKET is set, but no supervisor answers at %s (%s); training goes on without it", path, error)
            return
        if welcome.get("protocol") != PROTOCOL:
            log.warning("the supervisor speaks %s, this SDK %s; training goes on without it", welcome.get("protocol"), PROTOCOL)
            connection.close()
            return
        self._connection = connection
        self._resume = welcome.get("resume")
        self._steps = [step for step in welcome.get("steps", []) if type(step) is int]
        self._run_id = str(welcome.get("run"))
        self._together.welcome(welcome.get("everySteps"))
        self.attempt = welcome.get("attempt")
        self._can_reserve = welcome.get("reserves") is True
        if self._together.every is not None or self._asked is not None or who.world > 1:
            self._look_closer()
        atexit.register(self._tell_last)

    def _take(self, step: int, agreed: bool, meanwhile: Callable[[], None]) -> Optional[Dict[str, Any]]:
        """The checkpoint of this step, when the supervisor finds every byte of it good; once all ranks have agreed on it, what is newer counts no more."""
        connection = self._connection
        if connection is None:
            return None
        try:
            answer = connection.ask({"type": "take", "step": step, "agreed": agreed}, timeout=_COMING_SECONDS, meanwhile=meanwhile)
        except Gone:
            return None
        return answer.get("resume")

    def _on_push(self, message: Message) -> None:
        kind = message.get("type")
        if kind == "save":
            at = message.get("at")
            self._asked = "next" if at is None else at
            self._look_closer()
            if at is not None and not self._say_if_passed(at):
                # The step may be looking away right now.
                again = threading.Timer(_LOOK_SECONDS, self._say_if_passed, [at])
                again.daemon = True
                again.start()
        elif kind == "relax":
            self._asked = None
        elif kind == "sealed":
            self.last_sealed = message.get("step")
        elif kind == "lost":
            log.error("the checkpoint was not kept: %s", message.get("reason"))
        elif kind == "folder":
            self._offer({"type": "failed", "save": message.get("save"), "reason": "the trainer has stopped waiting for the folder"})

    def _is_due(self, step: int) -> bool:
        if self._granted is not None:
            if self._granted.step == step:
                return True
            self._give_back(step)
        if self._due == step:
            return True
        self._settle_due(step)
        is_agreed = self._who.world > 1 and self._is_agreed(step)
        asked = self._asked
        if is_agreed or (asked is not None and not self._together.is_agreeing and self._is_asked(asked, step)):
            return self._begin(step)
        every = self._together.every
        if every is not None and step > 0 and step % every == 0:
            return self._begin(step)
        # In this order: what is asked for meanwhile sets it again.
        self._watch = False
        if every is not None or self._asked is not None or self._together.is_agreeing:
            self._watch = True
        return False

    def _is_agreed(self, step: int) -> bool:
        return self._together.is_due(step, self._asked is not None) is True

    def _forget_asked(self) -> None:
        self._asked = None

    def _is_asked(self, asked: Union[str, int], step: int) -> bool:
        if asked == "next" or asked == step:
            return True
        if isinstance(asked, int) and step > asked:
            self._asked = None
            self._offer({"type": "late", "at": asked, "step": step})
        return False

    def _say_if_passed(self, at: int) -> bool:
        """Also while the trainer stands in a collective: others may wait for this rank at the step that it has passed, and it for them."""
        passed = self._passed
        if self._asked != at or passed < at:
            return False
        self._asked = None
        self._offer({"type": "late", "at": at, "step": passed})
        return True

    def _begin(self, step: int) -> bool:
        self._asked = None
        if self._asks_later:
            self._due = step
            return True
        self._granted = self._hold(step)
        return self._granted is not None

    def _hold(self, step: int) -> Optional[Grant]:
        """A folder that every rank writes into; where one of them cannot, none of them does."""
        grant = self._request(step)
        if self._who.world == 1 or not self._is_supervised:
            return grant
        if self._together.is_for_all(step, None if grant is None else Given(self._run_id, grant.save)):
            if grant is not None:
                grant.may_write()
            return grant
        if grant is not None:
            reason = f"not every rank was given a folder for step {step}, so that none of them saves it"
            log.warning("no save at step %d: %s", step, reason)
            self._offer({"type": "failed", "save": grant.save, "reason": reason})
        return None

    @property
    def _asks_later(self) -> bool:
        """Whether a save begins before there is a folder for it: its bytes leave the device meanwhile. Several ranks agree first."""
        return self._who.world == 1 and self._links and self.is_attached

    def _request(self, step: int) -> Optional[Grant]:
        meanwhile = partial(self._together.tell_coming, step) if self._who.world > 1 else None
        return self._ask(step, meanwhile) if self._may_ask(meanwhile) else None

    def _may_ask(self, meanwhile: Optional[Callable[[], None]] = None) -> bool:
        """Whoever begins another save has given up the one that it was given a folder for; one that is being written is waited for."""
        connection = self._connection
        if connection is None or not connection.is_open:
            return False
        self._tell_last()
        return self._has_written(connection, meanwhile)

    def _ask(
        self, step: int, meanwhile: Optional[Callable[[], None]] = None, beside: Optional[Callable[[], None]] = None
    ) -> Optional[Grant]:
        """On whatever thread."""
        connection = self._connection
        if connection is None:
            return None
        try:
            begin = {"type": "begin", "step": step, "linked": self._links}
            reply = connection.ask(begin, _COMING_SECONDS if meanwhile else None, meanwhile, beside)
        except Gone:
            return None
        if reply.get("type") == "folder":
            # Whatever was asked for before this answer, it is this save.
            self._asked = None
            return Grant(step, str(reply["save"]), Path(str(reply["path"])), reply.get("mark"), reply.get("names"))
        log.warning("no save at step %d: %s", step, reply.get("reason"))
        return None

    def _has_written(self, connection: Connection, meanwhile: Optional[Callable[[], None]]) -> bool:
        """Waits for a save block that is left on another thread; false when there is nobody any more to keep what it writes."""
        until = monotonic() + _COMING_SECONDS
        while not self._is_written.wait(_LOOK_SECONDS):
            if not connection.is_open:
                return False
            if meanwhile is not None and monotonic() >= until:
                until = monotonic() + _COMING_SECONDS
                meanwhile()
        return True

    def _keep_for(self, keeper: object) -> bool:
        """Whether memory is reserved for this one: there is one of them in a process."""
        self._keeper = self._keeper or keeper
        return self._keeper is keeper

    def _reserve(self, size: int) -> Optional[Path]:
        """A folder in memory for a file of so many bytes that saves are made of, in place of what was reserved before; None: there is no room, or no
        such memory, or none is wanted any more (0)."""
        connection = self._connection
        if connection is None or not self._can_reserve:
            return None
        try:
            reply = connection.ask({"type": "reserve", "bytes": size}, timeout=_RESERVE_SECONDS)
        except Gone:
            return None
        path = reply.get("path")
        if path is None and size > 0:
            log.warning("no memory is set aside for saves, which take a slower way: %s", reply.get("reason"))
        return None if path is None else Path(str(path))

    def _take_grant(self, step: int) -> Optional[Grant]:
        self._take_due(step)
        if self._granted is not None and self._granted.step != step:
            self._give_back(step)
        granted, self._granted = self._granted, None
        if granted is None:
            return self._hold(step)
        granted.is_used()
        return granted

    def _take_due(self, step: int) -> None:
        """The save of this step follows, and none that was due before it."""
        if self._due == step:
            self._due = None
        self._settle_due(step)

    def _settle_due(self, step: int) -> None:
        """A save that was due and did not follow must be told, and for that it has to be begun."""
        due, self._due = self._due, None
        if due is not None:
            self._granted = self._request(due)
            self._give_back(step)

    def _give_back(self, step: int) -> None:
        """The save that was due did not follow: the supervisor must not wait for it, nor the other ranks."""
        granted, self._granted = self._granted, None
        if granted is not None:
            reason = f"no save followed at step {granted.step}, and step {step} has come"
            self._offer({"type": "failed", "save": granted.save, "reason": reason})

    def _report(self, step: int, metrics: Mapping[str, Any], now: float) -> None:
        self._next_report = now + (_RANKS_REPORT_SECONDS if self._who.world > 1 else _REPORT_SECONDS)
        self._reported = step
        if self._connection is not None and self._connection.is_open:
            self._connection.offer_line(step_line(step, metrics))

    def _tell_last(self) -> None:
        """Progress that was coalesced so far, before something that depends on it."""
        latest = max(self._latest, self._passed)
        if latest > self._reported:
            self._report(latest, {}, monotonic())

    def _offer(self, message: Message) -> None:
        if self._connection is not None and self._connection.is_open:
            self._connection.offer(message)

    def _leave(self, who: Rank) -> None:
        """The process turns out to be another rank than it said; it must not count as both."""
        before = self._who
        log.warning("rank %d of %d has attached as rank %d of %d before; that run is detached", who.rank, who.world, before.rank, before.world)
        if self._connection is not None:
            self._connection.close()

    def _forget(self) -> None:
        if self._connection is not None:
            self._connection.forget()
        # The way to the other ranks is the parent's too. It is kept: letting go of it would wait for threads that do not exist here.
        self._parents = self._together
        self._together = Together(self._offer, self._forget_asked)
        self._watch = False
