import threading
import unittest
from unittest import mock

import holdfast
from fake_supervisor import FakeSupervisor, hear
from holdfast import _distributed
from holdfast._agreement import Agreement, Broken, Channel, Held, same_everywhere
from holdfast._together import ResumeDisagreement

MS = 1_000_000


class Wire:
    """What a real channel is between processes, between threads: each rank's numbers meet those of the others."""

    def __init__(self, world):
        self.world = world
        self.rounds = {}
        self.changed = threading.Condition()

    def give(self, number, rank, values):
        with self.changed:
            self.rounds.setdefault(number, {})[rank] = list(values)
            self.changed.notify_all()

    def take(self, number):
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.rounds.get(number, {})) == self.world, timeout=60):
                raise Broken("a rank did not come")
            return [self.rounds[number][rank] for rank in range(self.world)]


class WireChannel(Channel):
    def __init__(self, wire, rank):
        self.wire, self.rank, self.round = wire, rank, 0

    def start(self, values):
        self.round += 1
        self.wire.give(self.round, self.rank, values)

    def largest(self):
        return [max(column) for column in zip(*self.wire.take(self.round))]

    def gather(self, values):
        self.start(values)
        return self.wire.take(self.round)


class Clock:
    """Nanoseconds, as they are told."""

    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now


class Costly(WireChannel):
    """Takes some of the clock's time, as a real one does."""

    def __init__(self, wire, rank, clock, cost):
        super().__init__(wire, rank)
        self.clock, self.cost = clock, cost

    def start(self, values):
        self.clock.now += self.cost
        super().start(values)


def train(world, steps, wants, step_ns=10 * MS, cost_ns=MS // 4):
    """The steps at which each of the ranks was told to save, and the agreements; ``wants`` says from which step on a rank is asked."""
    wire = Wire(world)
    due = [[] for _ in range(world)]
    agreements = [None] * world

    def rank_main(rank):
        clock = Clock()
        agreement = agreements[rank] = Agreement(Costly(wire, rank, clock, cost_ns), clock)
        asked = wants.get(rank)
        for step in range(steps):
            clock.now += step_ns
            if agreement.is_due(step, asked is not None and step >= asked):
                due[rank].append(step)
                asked = None
        agreement.settle()

    threads = [threading.Thread(target=rank_main, args=(rank,)) for rank in range(world)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return due, agreements


class Ranks(unittest.TestCase):
    def test_all_save_the_same_step_when_one_of_them_is_asked(self):
        for asked in (0, 1, 137, 900):
            due, agreements = train(3, 2000, {1: asked})
            self.assertEqual(len(due[0]), 1)
            self.assertEqual(due, [due[0]] * 3)
            self.assertGreater(due[0][0], asked)
            self.assertLessEqual(due[0][0] - asked, 2 * agreements[0].every)

    def test_nobody_saves_when_nobody_is_asked(self):
        self.assertEqual(train(2, 1000, {})[0], [[], []])

    def test_agreeing_costs_at_most_a_thousandth_of_the_time(self):
        for step_ms, cost_us in ((10, 250), (1, 250), (400, 250), (10, 20)):
            _, agreements = train(2, 6000, {}, step_ns=step_ms * MS, cost_ns=cost_us * 1000)
            every = agreements[0].every
            self.assertEqual(every, agreements[1].every)
            self.assertLessEqual(cost_us / (every * step_ms * 1000), 0.0005 * 1.02)
            self.assertLessEqual(agreements[0].within_ms, 2 * 5000)

    def test_whoever_is_told_to_end_is_heard_in_time_however_much_it_costs(self):
        _, agreements = train(2, 500, {}, step_ns=1000 * MS, cost_ns=3000 * MS)
        self.assertLessEqual(agreements[0].within_ms, 10_000)

    def test_ranks_that_count_differently_do_not_agree_on_a_wrong_step(self):
        wire = Wire(2)
        one, other = (Agreement(WireChannel(wire, rank), Clock()) for rank in (0, 1))
        one.is_due(0, False)
        other.is_due(5, False)
        with self.assertRaisesRegex(Broken, "count their steps differently"):
            one.is_due(1, False)

    def test_a_rank_that_does_not_come_is_waited_for_no_longer_than_the_channel_does(self):
        class Alone(WireChannel):
            def largest(self):
                raise Broken("a rank did not come")

        agreement = Agreement(Alone(Wire(2), 0), Clock())
        agreement.is_due(0, True)
        with self.assertRaises(Broken):
            agreement.is_due(1, True)

    def test_a_resume_is_the_same_for_all_or_it_is_none(self):
        for held, same in (
            ([Held("r", 7, "a"), Held("r", 7, "a")], True),
            ([Held("r", None, ""), Held("r", None, "")], True),
            ([Held("r", 7, "a"), Held("r", 7, "b")], False),
            ([Held("r", 7, "a"), Held("r", 8, "a")], False),
            ([Held("r", None, ""), Held("r", 0, "a")], False),
            ([Held("r", 7, "a"), Held("of another node", 7, "b")], True),
            ([Held("r", 7, "a"), Held("of another node", 8, "b")], False),
        ):
            wire, answers = Wire(2), [None, None]

            def ask(rank):
                answers[rank] = same_everywhere(WireChannel(wire, rank), held[rank])

            threads = [threading.Thread(target=ask, args=(rank,)) for rank in (0, 1)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(10)
            self.assertEqual(answers, [same, same])


class Echo(Channel):
    """A world whose other rank says what it is told to say."""

    def __init__(self, want=0, broken_at=None, held=None):
        self.want, self.broken_at, self.held, self.calls = want, broken_at, held, 0

    def start(self, values):
        self.sent = list(values)

    def largest(self):
        self.calls += 1
        if self.calls == self.broken_at:
            raise Broken("connection reset")
        return [max(self.sent[0], self.want), *self.sent[1:]]

    def gather(self, values):
        # A rank that holds something is asked for it with as many numbers as it has.
        return [list(values), self.held if self.held and len(self.held) == len(values) else list(values)]

    def is_unanimous(self, place, given):
        return given is not None


class Attached(unittest.TestCase):
    def attach(self, channel, **more):
        supervisor = FakeSupervisor(**more)
        with mock.patch.object(_distributed, "is_ready", lambda: True), mock.patch.object(_distributed, "meet", lambda: channel):
            run = holdfast.attach(supervisor.env(RANK="0", WORLD_SIZE="2"))
            start = run.resume(lambda _: None)
            run.step(start)
        return supervisor, run

    def test_a_save_that_another_rank_was_asked_for_is_due_here_too(self):
        supervisor, run = self.attach(Echo(want=1))
        self.assertEqual(supervisor.expect("agrees")["withinMs"], 0)
        step = next(step for step in range(1, 100) if run.step(step))
        self.assertEqual(supervisor.expect("begin")["step"], step)

    def test_ranks_that_have_finished_say_that_they_agree_no_more(self):
        channel = Echo()
        channel.close = lambda: None
        supervisor, run = self.attach(channel)
        self.assertEqual(supervisor.expect("agrees")["withinMs"], 0)
        run.finish()
        while (told := supervisor.expect("agrees")["withinMs"]) is not None:
            self.assertGreaterEqual(told, 0)

    def test_ranks_that_cannot_agree_any_more_say_so_and_wait_to_be_told_a_step(self):
        supervisor, run = self.attach(Echo(broken_at=1))
        self.assertEqual(supervisor.expect("agrees")["withinMs"], 0)
        with self.assertLogs("holdfast", "WARNING"):
            self.assertFalse(run.step(1))
        self.assertIsNone(supervisor.expect("agrees")["withinMs"])
        supervisor.say({"type": "save", "why": "notice", "at": 5000})
        hear(run, supervisor)
        self.assertEqual(next(step for step in range(2, 6000) if run.step(step)), 5000)

    def test_a_step_that_is_named_as_soon_as_they_cannot_agree_is_kept(self):
        _, run = self.attach(Echo(broken_at=1))
        tell = run._connection.offer

        def offer(message):
            tell(message)
            if message["type"] == "agrees":
                run._on_push({"type": "save", "why": "notice", "at": 50})

        run._connection.offer = offer
        with self.assertLogs("holdfast", "WARNING"):
            self.assertEqual(next(step for step in range(1, 100) if run.step(step)), 50)

    def test_different_checkpoints_are_not_resumed_from(self):
        with self.assertRaisesRegex(ResumeDisagreement, "step 7"):
            self.attach(Echo(held=[1, 9, 1]), resume={"path": "/run/step-7", "step": 7, "save": "a"})
