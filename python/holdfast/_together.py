"""The ranks of one trainer, as each of them sees the others."""

from __future__ import annotations

import contextlib
import logging
from collections import Counter
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Sequence

from . import _distributed
from ._agreement import Agreement, Broken, Channel, Held, common_steps, same_everywhere, smallest_everywhere
from ._ballot import Given
from ._connection import Message

log = logging.getLogger("holdfast")

_WORTH_TELLING = 1.5


Resume = Dict[str, Any]
Take = Callable[[int, bool, Callable[[], None]], Optional[Resume]]
"""Takes the checkpoint of a step. The arguments: the step, whether all ranks have agreed on it, and
a callback to repeat while its bytes are compared."""


class ResumeDisagreement(RuntimeError):
    """The ranks would resume from different checkpoints, or cannot find out. No training survives
    that."""


class Together:
    """Finds the other ranks when they are first needed, and agrees with them. A single rank has no
    one to agree with."""

    def __init__(self, tell: Callable[[Message], None], on_part: Callable[[], None]) -> None:
        self._tell = tell
        self._on_part = on_part
        self._channel: Optional[Channel] = None
        self._agreement: Optional[Agreement] = None
        self._parents: List[object] = []
        self._has_looked = False
        self._told_ms = 0.0
        # How often each step's folder was voted on.
        self._asked_at: "Counter[int]" = Counter()
        self.every: Optional[int] = None
        """A save is due at every multiple of this, on all ranks alike once they have met."""
        self.is_spread = False
        """True on the one rank that warns, when the ranks are on several nodes."""

    def forget(self) -> None:
        """In a forked child: starts again without the other ranks, who are the parent's.

        The parent's channel is kept: closing it would wait for threads that do not exist here.
        """
        self._parents.append(self._channel)
        self._parents.append(self._agreement)
        self._channel = self._agreement = None
        self._has_looked = self.is_spread = False
        self._told_ms = 0.0
        self._asked_at = Counter()
        self.every = None

    @property
    def is_agreeing(self) -> bool:
        return self._agreement is not None

    @property
    def has_looked(self) -> bool:
        """True when this rank has met the others, or knows that it will not."""
        return self._has_looked

    def welcome(self, every: Optional[int]) -> None:
        """Handles the supervisor's answer. An earlier agreement of the ranks stands, and the
        supervisor is informed of it."""
        if not self._has_looked:
            self.every = every
        elif self._agreement is not None:
            self._tell({"type": "agrees", "withinMs": self._told_ms})

    def look(self, is_last_chance: bool) -> None:
        """Meets the other ranks, once, when torch.distributed is initialised. The first step is the
        last chance."""
        if self._has_looked or not (is_last_chance or _distributed.is_ready()):
            return
        self._has_looked = True
        if self.is_spread and not _distributed.is_ready():
            log.warning(
                "torch.distributed is not initialised, so ranks on several nodes cannot agree on the step of a save,"
                "and a rank without a folder saves nothing while others save; initialise it before the first step"
            )
        self._channel = _distributed.meet()
        if self._channel is None or not self._channel.has_group:
            return
        try:
            # A rank without an answer from its supervisor has no cadence, and a rank on another
            # node may have a different one.
            self.every = smallest_everywhere(self._channel, self.every)
        except Broken as error:
            self._part(error)
            return
        self._agreement = Agreement(self._channel)
        self._tell({"type": "agrees", "withinMs": 0})

    def is_due(self, step: int, wanted: bool) -> Optional[bool]:
        """Whether all ranks save now; None when the ranks cannot agree and the supervisor names the
        step."""
        self.look(is_last_chance=True)
        agreement = self._agreement
        if agreement is None:
            return None
        try:
            is_due = agreement.is_due(step, wanted)
        except Broken as error:
            self._part(error)
            return None
        within = agreement.within_ms
        if within > self._told_ms * _WORTH_TELLING or within * _WORTH_TELLING < self._told_ms:
            self._told_ms = within
            self._tell({"type": "agrees", "withinMs": within})
        return is_due

    def is_for_all(self, step: int, given: Optional[Given]) -> bool:
        """Whether all ranks write the save that this rank has a folder for, or none does. A single
        rank only needs its folder."""
        self.look(is_last_chance=False)
        if self._channel is None:
            return given is not None
        place = self._place(step)
        self._asked_at[step] += 1
        try:
            return self._channel.is_unanimous(place, given)
        except Broken as error:
            log.warning("no save at step %d: the ranks cannot ask each other whether all of them can save (%s)", step, error)
            return False

    def tell_coming(self, step: int) -> None:
        """Reports that this rank still waits for its folder; otherwise the other ranks would give
        the save up."""
        self.look(is_last_chance=False)
        if self._channel is not None:
            # If the report fails, the vote will fail too, and logs it.
            with contextlib.suppress(Broken):
                self._channel.tell_coming(self._place(step))

    def agree_resume(self, held: Held, steps: Sequence[int], take: Take) -> Optional[Resume]:
        """The checkpoint that all ranks resume from instead of this rank's own; None to keep that
        one. Raises when they cannot resume from the same.

        If each node has a run of its own, one node may have sealed a step that another did not
        reach. The ranks then take the newest step that every node holds, if it is good on all of
        them. Without torch.distributed the ranks cannot ask each other.
        """
        self.look(is_last_chance=False)
        channel = self._channel
        if channel is None or not channel.has_group:
            # Some ranks do not attach, perhaps all but rank 0. What they resume from is up to the
            # trainer.
            return None
        try:
            if same_everywhere(channel, held):
                return None
            for step in common_steps(channel, held.run, steps):
                place = f"resume-{step}"
                coming = partial(channel.tell_coming, place)
                taken = take(step, False, coming)
                given = None if taken is None else Given(held.run, str(taken["save"]))
                if channel.is_unanimous(place, given):
                    if take(step, True, coming) is None:
                        raise Broken(f"the ranks agreed on step {step}, but it could not be used")
                    log.warning("not all nodes hold the same last good checkpoint; all ranks resume from step %d, which every node holds", step)
                    return taken
        except Broken as error:
            if self._agreement is not None:
                self._part(error)
            raise ResumeDisagreement(
                f"the ranks could not verify that all of them resume from the same checkpoint ({error}); start them again"
            ) from None
        mine = "none" if held.step is None else f"step {held.step}, save {held.save}"
        raise ResumeDisagreement(
            f"this rank has another last good checkpoint ({mine}) than others, and no checkpoint is on all nodes; give all nodes one shared --dir,"
            "or let them start from copies of the same one (--ship)"
        )

    def settle(self) -> None:
        """Ends the agreement after the loop: no message under way may keep the ranks from
        ending."""
        agreement, self._agreement = self._agreement, None
        if agreement is None or self._channel is None:
            return
        try:
            agreement.settle()
        except Broken as error:
            log.debug("the last agreement of the ranks failed: %s", error)
            return
        channel, self._channel = self._channel, None
        channel.close()
        # If the trainer continues after that, the supervisor names the step.
        self._tell({"type": "agrees", "withinMs": None})

    def _place(self, step: int) -> str:
        return f"step-{step}/{self._asked_at[step]}"

    def _part(self, error: Broken) -> None:
        self._agreement = None
        # Call it before the message: the answer may name a step at once.
        self._on_part()
        self._tell({"type": "agrees", "withinMs": None})
        log.warning("the ranks can no longer agree (%s); the supervisor chooses the steps of saves instead", error)
