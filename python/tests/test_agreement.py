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
    """Connects threads as a real channel connects processes: each rank's numbers meet those of the
    other ranks."""

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
    """A clock that returns the nanoseconds it is given."""

    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now


class Costly(WireChannel):
    """A channel that takes some of the clock's time, as a real one does."""

    def __init__(self, wire, rank, clock, cost):
        super().__init__(wire, rank)
        self.clock, self.cost = clock, cost

    def start(self, values):
        self.clock.now += self.cost
        super().start(values)


def train(world, steps, wants, step_ns=10 * MS, cost_ns=MS // 4):
    """The steps at which each rank was told to save, and the agreements. ``wants`` gives the step
    from which a rank is asked."""
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
    def test_all_ranks_save_the_same_step_when_one_of_them_is_asked(self):
        for asked in (0, 1, 137, 900):
            due, agreements = train(3, 2000, {1: asked})
            self.assertEqual(len(due[0]), 1)
            self.assertEqual(due, [due[0]] * 3)
            self.assertGreater(due[0][0], asked)
            self.assertLessEqual(due[0][0] - asked, 2 * agreements[0].every)

    def test_no_rank_saves_when_none_is_asked(self):
        self.assertEqual(train(2, 1000, {})[0], [[], []])

    def test_agreeing_costs_at_most_a_thousandth_of_the_training_time(self):
        for step_ms, cost_us in ((10, 250), (1, 250), (400, 250), (10, 20)):
            _, agreements = train(2, 6000, {}, step_ns=step_ms * MS, cost_ns=cost_us * 1000)
            every = agreements[0].every
            self.assertEqual(every, agreements[1].every)
            self.assertLessEqual(cost_us / (every * step_ms * 1000), 0.0005 * 1.02)
            self.assertLessEqual(agreements[0].within_ms, 2 * 5000)

    def test_a_notice_is_heard_in_time_however_costly_an_agreement_is(self):
        _, agreements = train(2, 500, {}, step_ns=1000 * MS, cost_ns=3000 * MS)
        self.assertLessEqual(agreements[0].within_ms, 10_000)

    def test_ranks_that_count_their_steps_differently_agree_on_no_step(self):
        wire = Wire(2)
        one, other = (Agreement(WireChannel(wire, rank), Clock()) for rank in (0, 1))
        one.is_due(0, False)
        other.is_due(5, False)
        with self.assertRaisesRegex(Broken, "count their steps differently"):
            one.is_due(1, False)

    def test_an_agreement_waits_for_a_missing_rank_no_longer_than_the_channel_does(self):
        class Alone(WireChannel):
            def largest(self):
                raise Broken("a rank did not come")

        agreement = Agreement(Alone(Wire(2), 0), Clock())
        agreement.is_due(0, True)
        with self.assertRaises(Broken):
            agreement.is_due(1, True)

    def test_all_ranks_resume_from_the_same_checkpoint_or_none_does(self):
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
    """A world of two ranks, in which the other rank answers as configured."""

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
        # A rank that holds a checkpoint is asked for it with as many numbers as it has.
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

    def test_a_save_that_another_rank_was_asked_for_is_due_on_this_rank_too(self):
        supervisor, run = self.attach(Echo(want=1))
        self.assertEqual(supervisor.expect("agrees")["withinMs"], 0)
        step = next(step for step in range(1, 100) if run.step(step))
        self.assertEqual(supervisor.expect("begin")["step"], step)

    def test_finished_ranks_report_that_they_no_longer_agree(self):
        channel = Echo()
        channel.close = lambda: None
        supervisor, run = self.attach(channel)
        self.assertEqual(supervisor.expect("agrees")["withinMs"], 0)
        run.finish()
        while (told := supervisor.expect("agrees")["withinMs"]) is not None:
            self.assertGreaterEqual(told, 0)

    def test_ranks_that_can_no_longer_agree_report_it_and_wait_for_a_named_step(self):
        supervisor, run = self.attach(Echo(broken_at=1))
        self.assertEqual(supervisor.expect("agrees")["withinMs"], 0)
        with self.assertLogs("holdfast", "WARNING"):
            self.assertFalse(run.step(1))
        self.assertIsNone(supervisor.expect("agrees")["withinMs"])
        supervisor.say({"type": "save", "why": "notice", "at": 5000})
        hear(run, supervisor)
        self.assertEqual(next(step for step in range(2, 6000) if run.step(step)), 5000)

    def test_a_step_that_is_named_as_soon_as_ranks_cannot_agree_is_kept(self):
        _, run = self.attach(Echo(broken_at=1))
        tell = run._supervisor.connection.offer

        def offer(message):
            tell(message)
            if message["type"] == "agrees":
                run._on_push({"type": "save", "why": "notice", "at": 50})

        run._supervisor.connection.offer = offer
        with self.assertLogs("holdfast", "WARNING"):
            self.assertEqual(next(step for step in range(1, 100) if run.step(step)), 50)

    def test_ranks_do_not_resume_from_different_checkpoints(self):
        with self.assertRaisesRegex(ResumeDisagreement, "step 7"):
            self.attach(Echo(held=[1, 9, 1]), resume={"path": "/run/step-7", "step": 7, "save": "a"})
