"""How ranks agree on what they must do together: the step of a save, and the checkpoint to resume
from.

Only arithmetic here. ``_distributed`` carries the numbers between the ranks.
"""

from __future__ import annotations

import hashlib
import math
import time
from typing import Callable, List, NamedTuple, Optional, Sequence

from ._ballot import Given

_SHARE = 0.0005
"""The planned share of the training time that agreeing costs. It is half of the promised
thousandth, to leave room for costs that the plan does not see."""
_LONGEST_NS = 5_000_000_000
"""The longest time between two agreements, whatever they cost: a notice must be heard within about
this time."""
_GROWTH = 4
"""How fast the distance may grow: one odd measurement must not put the next agreement far off."""
_WEIGHT = 0.25


class Broken(Exception):
    """The ranks can no longer agree."""


class Channel:
    """Carries a few whole numbers between all ranks. Every wait is bounded; at worst it raises
    :class:`Broken`."""

    has_group = True
    """False when only :meth:`is_unanimous` works."""

    def start(self, values: Sequence[int]) -> None:
        """Contributes numbers and does not wait for the other ranks."""
        raise NotImplementedError

    def largest(self) -> List[int]:
        """The largest number of each place in the last contributions of all ranks; waits for the
        last rank."""
        raise NotImplementedError

    def gather(self, values: Sequence[int]) -> List[List[int]]:
        """The numbers that each rank gives here, by rank; waits for the last rank."""
        raise NotImplementedError

    def tell_coming(self, place: str) -> None:
        """Reports that this rank will come to this place, but still waits for its folder."""
        raise NotImplementedError

    def is_unanimous(self, place: str, given: Optional[Given]) -> bool:
        """Whether every rank was given a folder of the same save. All ranks that come to this place
        get the same answer."""
        raise NotImplementedError

    def close(self) -> None:
        """Releases everything; no message may still be under way."""


class Agreement:
    """Tells all ranks, at the same step, that a save is due as soon as one of them wants it.

    At certain steps each rank contributes whether it wants a save. It then reads what all ranks
    contributed the time before. Those numbers have already arrived, so no rank waits.

    The distance between these steps is agreed in the same way. It is large enough that agreeing
    costs less than a thousandth of the time.
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
        """The number of steps between two agreements."""
        self.within_ms: float = 0.0
        """If one rank wants a save, it is due on all ranks after at most this time."""

    def is_due(self, step: int, wanted: bool) -> bool:
        """True on all ranks at the same step, or on none. Raises Broken when the other ranks can no
        longer be asked."""
        return step >= self._next and self._agree(step, wanted)

    def settle(self) -> None:
        """Receives what is still under way, so that the ranks can end."""
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
        """Plans the next agreement, from the same numbers on every rank.

        The cost is the least that any rank measured: the rank that came last waited for no other.
        """
        if cost <= 0 or step_ns <= 0:
            return
        wished = math.ceil(cost / (_SHARE * step_ns))
        self.every = max(1, min(wished, self.every * _GROWTH, _LONGEST_NS // step_ns))
        self.within_ms = 2 * self.every * step_ns / 1e6


def _smooth(old: float, new: float) -> float:
    return float(new) if old == 0 else old + _WEIGHT * (new - old)


class Held(NamedTuple):
    """The checkpoint that a rank would resume from."""

    run: str
    """The folder of a run. Nodes with a folder each have a run each."""
    step: Optional[int]
    """None for a fresh start."""
    save: str
    """Tells apart two saves of the same step, which are two checkpoints."""


def same_everywhere(channel: Channel, held: Held) -> bool:
    """Whether all ranks would resume from the same checkpoint, or all start fresh.

    In one run, the same checkpoint means the same save. If every node has a run of its own, each
    holds its own part, and it means the same step.
    """
    step = -1 if held.step is None else held.step
    runs, steps, saves = zip(*channel.gather([_fingerprint(held.run), step, _fingerprint(held.save)]))
    return len(set(steps)) == 1 and (len(set(saves)) == 1 or len(set(runs)) > 1)


_MOST_STEPS = 16


def common_steps(channel: Channel, run: str, steps: Sequence[int]) -> List[int]:
    """The steps of which every rank holds a checkpoint, newest first, if each node has a run of its
    own. Empty in a single run, where there is nothing to choose."""
    mine = list(steps[:_MOST_STEPS])
    all_of_them = channel.gather([_fingerprint(run), *mine, *[-1] * (_MOST_STEPS - len(mine))])
    if len({given[0] for given in all_of_them}) == 1:
        return []
    common = set.intersection(*[set(given[1:]) for given in all_of_them])
    return sorted(common - {-1}, reverse=True)


def smallest_everywhere(channel: Channel, number: Optional[int]) -> Optional[int]:
    """The smallest positive number that any rank has; None when no rank has one."""
    numbers = [given for (given,) in channel.gather([number or 0]) if given > 0]
    return min(numbers, default=None)


def _fingerprint(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")
