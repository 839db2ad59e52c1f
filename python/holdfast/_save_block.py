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
    from ._due_save import DueSave

log = logging.getLogger("holdfast")


class Grant:
    """A folder that the supervisor has granted for one save."""

    def __init__(self, step: int, save: str, path: Path, mark: Optional[str], names: Optional[str] = None) -> None:
        self.step = step
        self.save = save
        self.path = path
        self.given = monotonic()
        self.waited = 0.0
        self.between: Optional[float] = None
        self._mark = mark
        # The file for the names of what this rank has written, and the record of those names.
        self._names = names
        self._written: Optional[Written] = None

    def may_write(self) -> None:
        """Marks that all other ranks have a folder too. The time until now was spent waiting for
        them, and does not measure how fast this rank writes."""
        self.waited = monotonic() - self.given

    def is_used(self) -> None:
        """Marks that the block is entered now, later than the step. What the trainer did in between
        (an evaluation) was neither writing nor waiting for the save."""
        self.between = monotonic() - self.given - self.waited

    @property
    def is_staged(self) -> bool:
        """True when the folder is in memory, and is freed there after the seal."""
        return self._mark is not None

    def begin(self) -> None:
        """Starts to record which files are written."""
        if self._names is not None:
            # Without its names, the save still counts.
            with contextlib.suppress(Exception):
                self._written = Written(self.path)

    def end(self) -> None:
        if self._written is not None:
            self._written.stop()

    def leave_mark(self) -> None:
        """Leaves a mark in the folder that it is complete, with the names of its files. The
        supervisor can then keep the save even if our message is lost."""
        with contextlib.suppress(OSError):
            if self._written is not None and self._names is not None:
                self._written.tell(self._names)
        with contextlib.suppress(OSError):
            if self._mark is not None:
                Path(self._mark).touch()


class SaveBlock:
    """The block of one save; see :meth:`Run.save`."""

    def __init__(self, due_save: DueSave, step: int) -> None:
        self._due_save = due_save
        self.step = step
        self._grant: Optional[Grant] = None
        self._began = monotonic()
        self._temporary: Optional[Path] = None
        # How long the training thread was held up, if another thread leaves the block.
        self._stall: Optional[float] = None

    @property
    def is_kept(self) -> bool:
        """True when the supervisor will keep what is written; known once the block is entered."""
        return self._grant is not None

    def may_enter_later(self) -> bool:
        """Whether another thread may enter and leave the block, because the state can be taken
        before its folder is known."""
        if self._due_save.granted is not None or not self._due_save.asks_later:
            return False
        self._due_save.take_due(self.step)
        return self._due_save.may_ask()

    def enter_later(self, beside: Callable[[], None]) -> Optional[Path]:
        """Enters the block on that thread. Returns None when nothing keeps the save; the block is
        then left. ``beside`` does what is possible before there is a folder."""
        self._grant = self._due_save.ask(self.step, None, beside)
        if self._grant is not None:
            return self._grant.path
        self._leave()
        return None

    def __enter__(self) -> Path:
        self._grant = self._due_save.take_grant(self.step)
        if self._grant is not None:
            self._grant.begin()
            return self._grant.path
        log.warning("step %d is saved into a temporary folder that is deleted: no supervisor keeps it", self.step)
        self._temporary = Path(tempfile.mkdtemp(prefix="holdfast-unkept-"))
        return self._temporary

    @property
    def is_staged(self) -> bool:
        """True when the save goes to memory first."""
        return self._grant is not None and self._grant.is_staged

    def tell_linked(self, is_linked: bool) -> None:
        """Sets whether the reserved memory itself was handed over, as it will be for the next
        save."""
        self._due_save.links = is_linked

    def in_background(self) -> None:
        """Declares that another thread leaves the block. The next save, or the end of the run,
        waits for it."""
        if self._temporary is None:
            grant = self._grant
            self._stall = monotonic() - (self._began if grant is None else grant.given + (grant.between or 0.0))
            self._due_save.is_written.clear()

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> bool:
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            return False
        connection, grant = self._due_save.supervisor.connection, self._grant
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
            # Check before the message: this rank's own failure makes the supervisor delete the
            # folder too.
            is_taken_away = isinstance(error, Exception) and not grant.path.exists()
            if kind is None:
                grant.leave_mark()
            else:
                message = {"type": "failed", "save": grant.save, "reason": f"{kind.__name__}: {error}"[:500]}
            connection.send(message)
            if kind is None:
                self._due_save.last_written = max(self._due_save.last_written, self.step)
        except Gone:
            pass
        finally:
            self._leave()
        if is_taken_away:
            # Another rank failed or died, so the save was given up while this rank wrote it. This
            # is no reason to end the training.
            log.warning("step %d is not saved: its folder was removed while it was written (%s: %s)", self.step, type(error).__name__, error)
        return is_taken_away

    def _leave(self) -> None:
        if self._stall is not None:
            self._due_save.is_written.set()
