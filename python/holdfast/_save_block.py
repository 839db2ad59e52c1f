"""The block in which a trainer writes one save."""

from __future__ import annotations

import contextlib
import logging
import shutil
import tempfile
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Type

from ._connection import Gone
from ._written import Written

if TYPE_CHECKING:
    from ._run import Run

log = logging.getLogger("holdfast")


class Grant:
    """A folder that the supervisor has given for one save."""

    def __init__(self, step: int, save: str, path: Path, mark: Optional[str], names: Optional[str] = None) -> None:
        self.step = step
        self.save = save
        self.path = path
        self.given = monotonic()
        self.waited = 0.0
        self.between: Optional[float] = None
        self._mark = mark
        # Where to leave the names of what this rank has written, and what is known of them.
        self._names = names
        self._written: Optional[Written] = None

    def may_write(self) -> None:
        """All other ranks were given a folder too: the time until now was spent on waiting for them, and says nothing about how fast this one writes."""
        self.waited = monotonic() - self.given

    def is_used(self) -> None:
        """It was given at the step, and only now the block is entered: what the trainer did in between, as an evaluation, was neither writing nor
        standing still for the save."""
        self.between = monotonic() - self.given - self.waited

    @property
    def is_staged(self) -> bool:
        """True when it is in memory, and is let go of there once it is sealed."""
        return self._mark is not None

    def begin(self) -> None:
        """From now on it is written."""
        if self._names is not None:
            # A save without its names is one all the same.
            with contextlib.suppress(Exception):
                self._written = Written(self.path)

    def end(self) -> None:
        if self._written is not None:
            self._written.stop()

    def leave_mark(self) -> None:
        """Says on the spot that all is written, and what: whoever finds the folder may keep it, also when nobody hears our word."""
        with contextlib.suppress(OSError):
            if self._written is not None and self._names is not None:
                self._written.tell(self._names)
        with contextlib.suppress(OSError):
            if self._mark is not None:
                Path(self._mark).touch()


class SaveBlock:
    """The block of one save; see :meth:`Run.save`."""

    def __init__(self, run: Run, step: int) -> None:
        self._run = run
        self.step = step
        self._grant: Optional[Grant] = None
        self._began = monotonic()
        self._temporary: Optional[Path] = None
        # How long the thread that trains was kept, where another one leaves the block.
        self._stall: Optional[float] = None

    @property
    def is_kept(self) -> bool:
        """True when somebody will keep what is written, once the block is entered."""
        return self._grant is not None

    def may_enter_later(self) -> bool:
        """Whether another thread may enter the block, and then leave it: what is saved does not depend on where it is written."""
        if self._run._granted is not None or not self._run._asks_later:
            return False
        self._run._take_due(self.step)
        return self._run._may_ask()

    def enter_later(self, beside: Callable[[], None]) -> Optional[Path]:
        """On that thread; None when nobody keeps it, and then the block is left. ``beside``: what can be done before there is a folder."""
        self._grant = self._run._ask(self.step, None, beside)
        if self._grant is not None:
            return self._grant.path
        self._leave()
        return None

    def __enter__(self) -> Path:
        self._grant = self._run._take_grant(self.step)
        if self._grant is not None:
            self._grant.begin()
            return self._grant.path
        log.warning("step %d is saved into a temporary folder that is thrown away: nobody keeps it", self.step)
        self._temporary = Path(tempfile.mkdtemp(prefix="holdfast-unkept-"))
        return self._temporary

    @property
    def is_staged(self) -> bool:
        """True when what is written goes to memory first."""
        return self._grant is not None and self._grant.is_staged

    def tell_linked(self, is_linked: bool) -> None:
        """Whether memory that was reserved was handed over itself, as that of the next save will be."""
        self._run._links = is_linked

    def in_background(self) -> None:
        """Another thread leaves the block: whoever begins the next save, or finishes the run, waits for that."""
        if self._temporary is None:
            grant = self._grant
            self._stall = monotonic() - (self._began if grant is None else grant.given + (grant.between or 0.0))
            self._run._is_written.clear()

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> bool:
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            return False
        connection, grant = self._run._connection, self._grant
        if connection is None or grant is None:
            self._leave()
            return False
        message: Dict[str, Any] = {"type": "saved", "save": grant.save}
        if self._stall is not None:
            message["stallMs"] = round(self._stall * 1000, 1)
        if grant.waited > 0:
            message["waitedMs"] = round(grant.waited * 1000, 1)
        if grant.between is not None:
            message["betweenMs"] = round(grant.between * 1000, 1)
        try:
            grant.end()
            # Before it is told: this rank's own failure has the folder taken away too.
            is_taken_away = isinstance(error, Exception) and not grant.path.exists()
            if kind is None:
                grant.leave_mark()
            else:
                message = {"type": "failed", "save": grant.save, "reason": f"{kind.__name__}: {error}"[:500]}
            connection.send(message)
        except Gone:
            pass
        finally:
            self._leave()
        if is_taken_away:
            # Another rank has failed or gone, so that the save was given up while this one wrote: no reason for the training to end.
            log.warning("step %d is not saved: its folder was taken away while it was written (%s: %s)", self.step, type(error).__name__, error)
        return is_taken_away

    def _leave(self) -> None:
        if self._stall is not None:
            self._run._is_written.set()
