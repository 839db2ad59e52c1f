"""The ranks of one trainer, as each of them sees the others."""

from __future__ import annotations

import contextlib
import logging
from collections import Counter
from functools import partial
from typing import Any, Callable, Dict, Optional, Sequence

from . import _distributed
from ._agreement import Agreement, Broken, Channel, Held, common_steps, same_everywhere, smallest_everywhere
from ._ballot import Given
from ._connection import Message

log = logging.getLogger("holdfast")

_WORTH_TELLING = 1.5


Resume = Dict[str, Any]
Take = Callable[[int, bool, Callable[[], None]], Optional[Resume]]
"""From a step, whether all ranks have agreed on it, and what to do again and again while its bytes are compared, to what to go on from there."""


class ResumeDisagreement(RuntimeError):
    """The ranks would go on from different checkpoints, which no training survives, or cannot tell whether they would."""


class Together:
    """Finds the others when they are first needed, and agrees with them; alone, it says that there is nobody to agree with."""

    def __init__(self, tell: Callable[[Message], None], on_part: Callable[[], None]) -> None:
        self._tell = tell
        self._on_part = on_part
        self._channel: Optional[Channel] = None
        self._agreement: Optional[Agreement] = None
        self._has_looked = False
        self._told_ms = 0.0
        # How often it was asked at a step whether all hold the folder of a save.
        self._asked_at: "Counter[int]" = Counter()
        self.every: Optional[int] = None
        """A save is due at every multiple of it, on all ranks alike as soon as they have met."""
        self.is_spread = False
        """The ranks are on several nodes, and this is the one that tells what is wrong with that."""

    @property
    def is_agreeing(self) -> bool:
        return self._agreement is not None

    @property
    def has_looked(self) -> bool:
        """True when it has met the others, or knows that it does not."""
        return self._has_looked

    def welcome(self, every: Optional[int]) -> None:
        """The supervisor has answered. What the ranks have agreed on before stands, and is told to it."""
        if not self._has_looked:
            self.every = every
        elif self._agreement is not None:
            self._tell({"type": "agrees", "withinMs": self._told_ms})

    def look(self, is_last_chance: bool) -> None:
        """Meets the others, once, when torch.distributed is there. At the first step it is, or never."""
        if self._has_looked or not (is_last_chance or _distributed.is_ready()):
            return
        self._has_looked = True
        if self.is_spread and not _distributed.is_ready():
            log.warning(
                "torch.distributed is not initialised, so that ranks on several nodes cannot ask each other: no step is named to all of them, "
                "and one that is given no folder saves nothing while others save; initialise it before the first step"
            )
        self._channel = _distributed.meet()
        if self._channel is None or not self._channel.has_group:
            return
        try:
            # One that the supervisor does not answer was told none, and one on another node perhaps another.
            self.every = smallest_everywhere(self._channel, self.every)
        except Broken as error:
            self._part(error)
            return
        self._agreement = Agreement(self._channel)
        self._tell({"type": "agrees", "withinMs": 0})

    def is_due(self, step: int, wanted: bool) -> Optional[bool]:
        """Whether all ranks save now; None when there is no agreement to be had, and the supervisor names the step."""
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
        """Whether all ranks write the save that this one was given a folder for, or none of them; alone, whether it was given one."""
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
        """Says that this rank still waits for the folder of a save, before it asks the others: they would give it up."""
        self.look(is_last_chance=False)
        if self._channel is not None:
            # Whoever cannot be told cannot be asked either, which says it.
            with contextlib.suppress(Broken):
                self._channel.tell_coming(self._place(step))

    def agree_resume(self, held: Held, steps: Sequence[int], take: Take) -> Optional[Resume]:
        """What all ranks go on from in place of what this one holds; None: just that. Raises where they cannot go on from the same.

        Where nodes have a run each, one may have sealed a step that another was ended before: then the newest that all of them hold is taken,
        if it is good on all of them. Without torch.distributed nobody can be asked.
        """
        self.look(is_last_chance=False)
        channel = self._channel
        if channel is None or not channel.has_group:
            # Some do not attach at all, perhaps all but the first: what they go on from is the trainer's own matter.
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
                        raise Broken(f"step {step} was agreed on, and could not be taken")
                    log.warning("not all nodes hold the same last good checkpoint; all ranks go on from step %d, which they do hold", step)
                    return taken
        except Broken as error:
            if self._agreement is not None:
                self._part(error)
            raise ResumeDisagreement(
                f"the ranks could not make sure that all of them go on from the same checkpoint ({error}); start them again"
            ) from None
        mine = "none" if held.step is None else f"step {held.step}, save {held.save}"
        raise ResumeDisagreement(
            f"this rank holds another last good checkpoint ({mine}) than others, and none is held by all; give all nodes one shared --dir, "
            "or let them begin with copies of the same one (--ship)"
        )

    def settle(self) -> None:
        """The loop is over; what is still on its way between the ranks must not keep them from ending."""
        agreement, self._agreement = self._agreement, None
        if agreement is None or self._channel is None:
            return
        try:
            agreement.settle()
        except Broken as error:
            log.debug("the last agreement came to nothing: %s", error)
            return
        channel, self._channel = self._channel, None
        channel.close()
        # Whoever trains on after that is asked for a step by its number.
        self._tell({"type": "agrees", "withinMs": None})

    def _place(self, step: int) -> str:
        return f"step-{step}/{self._asked_at[step]}"

    def _part(self, error: Broken) -> None:
        self._agreement = None
        # Before it is told: the answer may name a step at once.
        self._on_part()
        self._tell({"type": "agrees", "withinMs": None})
        log.warning("the ranks cannot agree any more (%s); the supervisor names the steps of saves", error)
