"""Decides whether a save is due at a step, and asks the supervisor for its folder."""

from __future__ import annotations

import logging
import threading
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Callable, Optional, Union

from ._ballot import Given
from ._connection import Connection
from ._save_block import Grant
from ._supervisor import Supervisor
from ._together import Together

log = logging.getLogger("holdfast")

_LOOK_SECONDS = 0.2
"""How often a wait for a background save checks that the supervisor is still there to keep it."""


class DueSave:
    """The save that is due, if any, and the folder that the supervisor granted for it.

    Call its methods on the thread that trains, unless they say otherwise.
    """

    def __init__(self, supervisor: Supervisor, together: Together, tell_last: Callable[[], None]) -> None:
        self.supervisor = supervisor
        self._together = together
        self._tell_last = tell_last
        self.watch = False
        """True when the next step must look closer. The reading thread may set it."""
        self.asked: Union[None, str, int] = None
        """The save that the supervisor asked for: None, "next", or the number of a step. The
        reading thread sets it."""
        self.granted: Optional[Grant] = None
        """The folder of the save that is due, until its block is entered."""
        self.is_written = threading.Event()
        """Cleared while another thread than the one that trains writes a save."""
        self.is_written.set()
        self.last_written = -1
        """The newest step whose save this rank has handed over."""
        self.links = False
        """True when saves are made in the reserved memory, which is then handed over itself."""
        self.keeper: Optional[object] = None
        """The one state of this process that has reserved memory."""
        # The step of a save that is due and whose folder is requested only later.
        self._due: Optional[int] = None

    def is_due(self, step: int) -> bool:
        """Whether a save is due at this step; every rank gets the same answer."""
        if self.granted is not None:
            if self.granted.step == step:
                return True
            self._give_back(step)
        if self._due == step:
            return True
        self._settle_due(step)
        is_agreed = self.supervisor.who.world > 1 and self._is_agreed(step)
        asked = self.asked
        if is_agreed or (asked is not None and not self._together.is_agreeing and self._is_asked(asked, step)):
            return self._begin(step)
        every = self._together.every
        if every is not None and step > 0 and step % every == 0:
            return self._begin(step)
        # First clear, then set: a request that arrives meanwhile sets it again.
        self.watch = False
        if every is not None or self.asked is not None or self._together.is_agreeing:
            self.watch = True
        return False

    @property
    def asks_later(self) -> bool:
        """True when a save starts before it has a folder, while its bytes leave the device.

        Never with several ranks: they agree first.
        """
        return self.supervisor.who.world == 1 and self.links and self.supervisor.is_open

    def take_grant(self, step: int) -> Optional[Grant]:
        """The folder for the save of this step; None when nothing will keep it."""
        self.take_due(step)
        if self.granted is not None and self.granted.step != step:
            self._give_back(step)
        granted, self.granted = self.granted, None
        if granted is None:
            return self._hold(step)
        granted.is_used()
        return granted

    def take_due(self, step: int) -> None:
        """Notes that the save of this step follows; a save that was due before it is given up."""
        if self._due == step:
            self._due = None
        self._settle_due(step)

    def may_ask(self, meanwhile: Optional[Callable[[], None]] = None) -> bool:
        """Whether a folder may be requested now; waits for a save that is still being written."""
        connection = self.supervisor.connection
        if connection is None or not connection.is_open:
            return False
        self._tell_last()
        return self.has_written(connection, meanwhile)

    def ask(
        self, step: int, meanwhile: Optional[Callable[[], None]] = None, beside: Optional[Callable[[], None]] = None
    ) -> Optional[Grant]:
        """Asks the supervisor for the folder of this save; any thread may call it."""
        reply = self.supervisor.begin_save(step, self.links, meanwhile, beside)
        if reply is None:
            return None
        if reply.get("type") == "folder":
            # This save answers every request that came before the reply.
            self.asked = None
            return Grant(step, str(reply["save"]), Path(str(reply["path"])), reply.get("mark"), reply.get("names"))
        log.warning("no save at step %d: %s", step, reply.get("reason"))
        return None

    def has_written(self, connection: Connection, meanwhile: Optional[Callable[[], None]]) -> bool:
        """Waits until another thread has left its save block; false when the supervisor is gone."""
        until = monotonic() + self.supervisor.COMING_SECONDS
        while not self.is_written.wait(_LOOK_SECONDS):
            if not connection.is_open:
                return False
            if meanwhile is not None and monotonic() >= until:
                until = monotonic() + self.supervisor.COMING_SECONDS
                meanwhile()
        return True

    def keep_for(self, keeper: object) -> bool:
        """Whether the reserved memory is this keeper's; a process has only one keeper."""
        self.keeper = self.keeper or keeper
        return self.keeper is keeper

    def _is_agreed(self, step: int) -> bool:
        return self._together.is_due(step, self.asked is not None) is True

    def _is_asked(self, asked: Union[str, int], step: int) -> bool:
        if asked == "next" or asked == step:
            return True
        if isinstance(asked, int) and step > asked:
            self.asked = None
            self.supervisor.offer({"type": "late", "at": asked, "step": step})
        return False

    def _begin(self, step: int) -> bool:
        self.asked = None
        if self.asks_later:
            self._due = step
            return True
        self.granted = self._hold(step)
        return self.granted is not None

    def _hold(self, step: int) -> Optional[Grant]:
        """A folder that every rank writes into; if one rank gets none, no rank writes."""
        grant = self._request(step)
        supervisor = self.supervisor
        if supervisor.who.world == 1 or not supervisor.is_expected:
            return grant
        if self._together.is_for_all(step, None if grant is None else Given(supervisor.run_id, grant.save)):
            if grant is not None:
                grant.may_write()
            return grant
        if grant is not None:
            reason = f"not every rank got a folder for step {step}, so no rank saves it"
            log.warning("no save at step %d: %s", step, reason)
            supervisor.offer({"type": "failed", "save": grant.save, "reason": reason})
        return None

    def _request(self, step: int) -> Optional[Grant]:
        meanwhile = partial(self._together.tell_coming, step) if self.supervisor.who.world > 1 else None
        return self.ask(step, meanwhile) if self.may_ask(meanwhile) else None

    def _settle_due(self, step: int) -> None:
        """Reports a save that was due and did not follow. It must start first to be reported."""
        due, self._due = self._due, None
        if due is not None:
            self.granted = self._request(due)
            self._give_back(step)

    def _give_back(self, step: int) -> None:
        """Gives up a due save that did not follow: neither supervisor nor ranks may wait for it."""
        granted, self.granted = self.granted, None
        if granted is not None:
            reason = f"the save that was granted for step {granted.step} did not start before step {step}"
            self.supervisor.offer({"type": "failed", "save": granted.save, "reason": reason})
