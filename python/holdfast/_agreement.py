"""How ranks agree on what all of them have to do alike: the step of a save, and the checkpoint to resume from.

Only arithmetic here; what carries the numbers from rank to rank is in ``_distributed``.
"""

from __future__ import annotations

import hashlib
import math
import time
from typing import Callable, List, NamedTuple, Optional, Sequence

from ._ballot import Given

_SHARE = 0.0005
"""The part of the training time that agreeing is planned to cost; half of the thousandth that is promised, for what the plan does not see."""
_LONGEST_NS = 5_000_000_000
"""However costly it is: whoever is told to end has to be heard within a time like this."""
_GROWTH = 4
"""One odd measurement must not put the next agreement far off."""
_WEIGHT = 0.25


class Broken(Exception):
    """The ranks cannot agree any more."""


class Channel:
    """Carries a few whole numbers between all ranks; every wait is bounded and ends in :class:`Broken` at the worst."""

    has_group = True
    """False where only :meth:`is_unanimous` is to be had."""

    def start(self, values: Sequence[int]) -> None:
        """Contributes, and does not wait for the others."""
        raise NotImplementedError

    def largest(self) -> List[int]:
        """Of what all ranks contributed last, the largest of each place; waits for the last of them."""
        raise NotImplementedError

    def gather(self, values: Sequence[int]) -> List[List[int]]:
        """What each rank gives here, by rank; waits for the last of them."""
        raise NotImplementedError

    def tell_coming(self, place: str) -> None:
        """Says that this rank will come to this place, and still waits for its folder."""
        raise NotImplementedError

    def is_unanimous(self, place: str, given: Optional[Given]) -> bool:
        """Whether each rank was given a folder of the same save; the same on all of them that come to this place."""
        raise NotImplementedError

    def close(self) -> None:
        """Lets go of everything; nothing may be on its way."""


class Agreement:
    """Tells all ranks at the same step that a save is due as soon as one of them wants it.

    At certain steps each rank contributes whether it wants a save, and takes what all have contributed at the time before: by then it
    has arrived, so that nobody waits. Which steps these are follows from numbers that were agreed in the same way: as many steps apart
    that agreeing costs less than a thousandth of the time.
    """

    def __init__(self, channel: Channel, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self._channel = channel
        self._clock = clock
        self._next = -1
        self._is_waiting = False
        self._since: Optional[int] = None
        self._since_step = 0
        self._cost = 0.0
        self._step_ns = 0.0
        self.every = 1
        """So many steps lie between two agreements."""
        self.within_ms: float = 0.0
        """A save that one rank wants is due on all of them after at most this."""

    def is_due(self, step: int, wanted: bool) -> bool:
        """True on all ranks at the same step, or on none. Raises Broken when the others cannot be asked any more."""
        return step >= self._next and self._agree(step, wanted)

    def settle(self) -> None:
        """Takes what is still on its way, so that the ranks can end."""
        if self._is_waiting:
            self._is_waiting = False
            self._channel.largest()

    def _agree(self, step: int, wanted: bool) -> bool:
        began = self._clock()
        self._time_steps(step, began)
        is_due = False
        if self._is_waiting:
            want, cost, step_ns, newest, oldest = self._channel.largest()
            if newest != -oldest:
                raise Broken(f"the ranks count their steps differently: one was at step {newest}, another at {-oldest}")
            is_due = want > 0
            self._plan(-cost, -step_ns)
        self._channel.start([int(wanted and not is_due), -math.ceil(self._cost), -math.ceil(self._step_ns), step, -step])
        self._is_waiting = True
        self._next = step + self.every
        ended = self._clock()
        self._cost = _smooth(self._cost, ended - began)
        self._since, self._since_step = ended, step
        return is_due

    def _time_steps(self, step: int, now: int) -> None:
        if self._since is not None and step > self._since_step:
            self._step_ns = _smooth(self._step_ns, (now - self._since) / (step - self._since_step))

    def _plan(self, cost: int, step_ns: int) -> None:
        """From the same numbers on every rank: the least that it cost any of them, since whoever came last has waited for nobody."""
        if cost <= 0 or step_ns <= 0:
            return
        wished = math.ceil(cost / (_SHARE * step_ns))
        self.every = max(1, min(wished, self.every * _GROWTH, _LONGEST_NS // step_ns))
        self.within_ms = 2 * self.every * step_ns / 1e6


def _smooth(old: float, new: float) -> float:
    return float(new) if old == 0 else old + _WEIGHT * (new - old)


class Held(NamedTuple):
    """What a rank would resume from."""

    run: str
    """The folder of a run; nodes that have a folder each have a run each."""
    step: Optional[int]
    """None: it starts fresh."""
    save: str
    """Two saves of one step are two checkpoints."""


def same_everywhere(channel: Channel, held: Held) -> bool:
    """Whether all ranks would go on from the same checkpoint, or all from none.

    In one run that is the same save. Where every node has a run of its own, each holds its own part, and it is the same step.
    """
    step = -1 if held.step is None else held.step
    runs, steps, saves = zip(*channel.gather([_fingerprint(held.run), step, _fingerprint(held.save)]))
    return len(set(steps)) == 1 and (len(set(saves)) == 1 or len(set(runs)) > 1)


_MOST_STEPS = 16


def common_steps(channel: Channel, run: str, steps: Sequence[int]) -> List[int]:
    """The steps that every rank holds a checkpoint of, the newest first, where nodes have a run each; in one run there is nothing to choose."""
    mine = list(steps[:_MOST_STEPS])
    all_of_them = channel.gather([_fingerprint(run), *mine, *[-1] * (_MOST_STEPS - len(mine))])
    if len({given[0] for given in all_of_them}) == 1:
        return []
    common = set.intersection(*[set(given[1:]) for given in all_of_them])
    return sorted(common - {-1}, reverse=True)


def smallest_everywhere(channel: Channel, number: Optional[int]) -> Optional[int]:
    """The smallest of the positive numbers that the ranks have; None when none of them has one."""
    numbers = [given for (given,) in channel.gather([number or 0]) if given > 0]
    return min(numbers, default=None)


def _fingerprint(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")
