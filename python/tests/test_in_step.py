"""Two ranks, one of whose supervisors fails at each possible moment: both ranks still do the
same."""

import contextlib
import logging
import os
import threading
import time
import unittest
from unittest import mock

import holdfast
from fake_supervisor import FakeSupervisor, await_loss
from holdfast import _ballot, _distributed, _due_save
from holdfast._agreement import Broken
from holdfast._ballot import Given
from holdfast._supervisor import Supervisor
from test_agreement import Wire, WireChannel

WORLD = 2
REFUSED = {"type": "refused", "code": "SAVE_INCOMPLETE", "reason": "the first node did not come"}


class MemoryStore:
    """Keeps the promises of torch's store, between threads."""

    def __init__(self):
        self.values = {}
        self.lock = threading.Lock()

    def compare_set(self, key, expected, desired):
        with self.lock:
            current = self.values.get(key, "")
            if current == expected:
                current = self.values[key] = desired
            return (current or expected).encode()

    def add(self, key, amount):
        with self.lock:
            self.values[key] = self.values.get(key, 0) + amount
            return self.values[key]


class Voting(WireChannel):
    def __init__(self, wire, rank, store, within=60.0):
        super().__init__(wire, rank)
        self.store, self.within = store, within
        self.is_closed = False

    def close(self):
        self.is_closed = True

    def tell_coming(self, place):
        _ballot.tell_coming(self.store, place)

    def is_unanimous(self, place, given):
        return _ballot.is_unanimous(self.store, _ballot.Place(place, self.wire.world, self.within), given)


class Parting(Voting):
    """Loses the other ranks at the first agreement, as after a time-out."""

    def largest(self):
        raise Broken("connection reset")


class Cut(Voting):
    """Cannot reach the other ranks when it comes to a save."""

    def is_unanimous(self, place, given):
        raise Broken("connection refused")


def on_each(world, act):
    """What ``act(rank)`` returns on one thread per rank; an error of a thread fails the test."""
    results, errors = [None] * world, []

    def main(rank):
        try:
            results[rank] = act(rank)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=main, args=(rank,), name=str(rank)) for rank in range(world)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    if errors:
        raise errors[0]
    return results


class Ranks(unittest.TestCase):
    """Two ranks with a supervisor each, as on two nodes; the second supervisor is the one that
    fails."""

    def setUp(self):
        self.gather(Voting, (10, 10))
        for name, fake in (("is_ready", lambda: True), ("meet", lambda: self.channels[int(threading.current_thread().name)])):
            patch = mock.patch.object(_distributed, name, fake)
            patch.start()
            self.addCleanup(patch.stop)
        logging.getLogger("holdfast").setLevel(logging.CRITICAL)
        self.addCleanup(logging.getLogger("holdfast").setLevel, logging.NOTSET)

    def gather(self, channel, cadences):
        wire, store = Wire(WORLD), MemoryStore()
        self.supervisors = [FakeSupervisor(every_steps=cadence) for cadence in cadences]
        self.channels = [channel(wire, rank, store) for rank in range(WORLD)]

    def attach(self, rank):
        return holdfast.attach(self.supervisors[rank].env(RANK=str(rank), WORLD_SIZE=str(WORLD)))

    def train(self, steps, at=None):
        """The steps at which each rank has saved, and whether the folder of each save is kept.
        ``at(rank, step)`` is called before each step."""

        def main(rank):
            run, saves = self.attach(rank), []
            for step in range(run.resume(lambda _: None), steps):
                if at is not None:
                    at(rank, step, run)
                if run.step(step):
                    with run.save(step) as folder:
                        saves.append((step, str(folder).startswith(self.supervisors[rank].folder)))
            run.finish()
            return saves

        return on_each(WORLD, main)

    def gave_back(self, rank):
        """The saves that this rank has reported as failed, and those that it has handed over."""
        told = {"failed": [], "saved": []}
        with contextlib.suppress(Exception):
            while True:
                message = self.supervisors[rank].heard.get_nowait()
                told.get(message["type"], []).append(message.get("save"))
        return told["failed"], told["saved"]

    def test_all_ranks_save_when_all_were_given_a_folder(self):
        self.assertEqual(self.train(25), [[(10, True), (20, True)]] * WORLD)

    def test_finished_ranks_close_their_channel_unless_a_message_is_still_under_way(self):
        for channel, is_closed in ((Voting, True), (Parting, False)):
            self.gather(channel, (10, 10))
            self.train(1)
            self.assertEqual([one.is_closed for one in self.channels], [is_closed] * WORLD)

    def test_no_rank_saves_when_a_supervisor_dies_before_it_answers(self):
        supervisor = self.supervisors[1]
        supervisor.answers["begin"] = lambda _: supervisor.vanish()
        self.assertEqual(self.train(25), [[], []])
        self.assertEqual(self.gave_back(0), (["1", "2"], []))

    def test_no_rank_saves_when_a_supervisor_refuses(self):
        give = self.supervisors[1].answers["begin"]
        self.supervisors[1].answers["begin"] = lambda message: give(message) if message["step"] > 10 else {**REFUSED, "step": message["step"]}
        # In one shared run, a save has the same name for all ranks.
        self.supervisors[1]._saves = 1
        self.assertEqual(self.train(25), [[(20, True)]] * WORLD)
        self.assertEqual(self.gave_back(0), (["1"], ["2"]))

    def test_no_rank_saves_when_a_supervisor_is_gone_before_the_save(self):
        def at(rank, step, run):
            if rank == 1 and step == 15:
                self.supervisors[1].vanish()

        self.assertEqual(self.train(25, at), [[(10, True)]] * WORLD)

    def test_no_rank_saves_when_one_could_not_attach(self):
        os.unlink(self.supervisors[1].path)
        self.assertEqual(self.train(25), [[], []])
        self.assertEqual(self.gave_back(0), (["1", "2"], []))

    def test_no_rank_saves_when_the_folders_belong_to_two_saves(self):
        self.supervisors[1]._saves = 7
        self.assertEqual(self.train(15), [[], []])
        self.assertEqual([self.gave_back(rank) for rank in range(WORLD)], [(["1"], []), (["8"], [])])

    def test_nodes_with_a_run_each_have_a_save_each(self):
        welcome = self.supervisors[1].answers["hello"]
        self.supervisors[1].answers["hello"] = lambda message: {**welcome(message), "run": "of another node"}
        self.supervisors[1]._saves = 7
        self.assertEqual(self.train(15), [[(10, True)]] * WORLD)

    def test_a_supervisor_that_dies_after_granting_folders_does_not_separate_the_ranks(self):
        def main(rank):
            run, supervisor = self.attach(rank), self.supervisors[rank]
            run.step(9)
            is_due = run.step(10)
            if rank == 1:
                supervisor.vanish()
            with run.save(10) as folder:
                return is_due, str(folder).startswith(supervisor.folder)

        self.assertEqual(on_each(WORLD, main), [(True, True)] * WORLD)

    def test_a_save_that_the_trainer_starts_itself_is_kept_on_all_ranks_or_on_none(self):
        def main(rank):
            run, kept = self.attach(rank), []
            for step in (1, 2, 2):
                with run.save(step) as folder:
                    kept.append(str(folder).startswith(self.supervisors[rank].folder))
                if rank == 1:
                    self.supervisors[1].answers["begin"] = lambda message: {**REFUSED, "step": message["step"]}
            return kept

        self.assertEqual(on_each(WORLD, main), [[True, False, False]] * WORLD)

    def test_a_rank_that_waits_for_its_folder_reports_meanwhile_and_all_ranks_save(self):
        store, give = self.channels[1].store, self.supervisors[1].answers["begin"]

        def seal_the_save_before_first(message):
            while store.add(f"step-{message['step']}/0/coming", 0) < 3:
                time.sleep(0.001)
            return give(message)

        self.supervisors[1].answers["begin"] = seal_the_save_before_first
        with mock.patch.object(Supervisor, "COMING_SECONDS", 0.001):
            self.assertEqual(self.train(15), [[(10, True)]] * WORLD)

    def test_a_rank_that_still_writes_the_previous_save_reports_meanwhile(self):
        store, released = self.channels[1].store, threading.Event()

        def main(rank):
            run, kept = self.attach(rank), []
            writing = run.save(1)
            kept.append(str(writing.__enter__()).startswith(self.supervisors[rank].folder))
            writing.in_background()
            leave = threading.Thread(target=lambda: (released.wait(60) if rank == 1 else None, writing.__exit__(None, None, None)))
            leave.start()
            with run.save(2) as folder:
                kept.append(str(folder).startswith(self.supervisors[rank].folder))
            leave.join()
            return kept

        def release():
            while store.add("step-2/0/coming", 0) < 2:
                time.sleep(0.001)
            released.set()

        threading.Thread(target=release, daemon=True).start()
        with mock.patch.object(Supervisor, "COMING_SECONDS", 0.001), mock.patch.object(_due_save, "_LOOK_SECONDS", 0.001):
            self.assertEqual(on_each(WORLD, main), [[True, True]] * WORLD)

    def test_a_rank_that_attaches_again_stays_with_the_others_even_without_its_supervisor(self):
        def main(rank):
            run = self.attach(rank)
            run.step(0)
            if rank == 1:
                self.supervisors[1].vanish()
                await_loss(run)
            again = self.attach(rank)
            return again is run, [step for step in range(1, 15) if again.step(step)]

        self.assertEqual(on_each(WORLD, main), [(True, [])] * WORLD)

    def test_all_ranks_keep_the_smallest_cadence_that_any_of_them_was_given(self):
        for other in (None, 30):
            self.gather(Voting, (10, other))
            self.assertEqual(self.train(25), [[(10, True), (20, True)]] * WORLD)

    def test_ranks_that_can_no_longer_agree_on_steps_still_save_all_or_none(self):
        self.gather(Parting, (10, 10))
        supervisor = self.supervisors[1]
        give = supervisor.answers["begin"]
        supervisor.answers["begin"] = lambda message: supervisor.vanish() if message["step"] == 20 else give(message)
        self.assertEqual(self.train(35), [[(10, True)]] * WORLD)

    def test_ranks_that_cannot_ask_each_other_do_not_save_and_give_their_folders_back(self):
        self.gather(Cut, (10, 10))
        self.assertEqual(self.train(25), [[], []])
        self.assertEqual([self.gave_back(rank) for rank in range(WORLD)], [(["1", "2"], [])] * WORLD)


class Ballots(unittest.TestCase):
    def vote(self, all_given, within=30.0):
        store = MemoryStore()
        return on_each(len(all_given), lambda rank: _ballot.is_unanimous(store, _ballot.Place("10/0", WORLD, within), all_given[rank]))

    def test_ranks_wait_no_longer_than_the_bound_for_a_rank_that_does_not_come(self):
        self.assertEqual(self.vote([Given("r", "1")], within=0.0), [False])

    def test_ranks_wait_for_a_rank_that_keeps_reporting_however_long_it_takes(self):
        store, place = MemoryStore(), _ballot.Place("10/0", WORLD, 60.0)
        now, waits = [0.0], [0]

        def sleep(seconds):
            """Simulated minutes in which the other rank reports until it comes."""
            now[0] += 50.0
            waits[0] += 1
            if waits[0] < 20:
                _ballot.tell_coming(store, place.name)
            elif waits[0] == 20:
                self.assertTrue(_ballot.is_unanimous(store, place, Given("r", "1")))

        with mock.patch.object(_ballot, "time", mock.Mock(monotonic=lambda: now[0], sleep=sleep)):
            self.assertTrue(_ballot.is_unanimous(store, place, Given("r", "1")))
        self.assertEqual(waits[0], 20)

    def test_ranks_wait_no_longer_than_the_bound_for_a_rank_that_stopped_reporting(self):
        store, place = MemoryStore(), _ballot.Place("10/0", WORLD, 60.0)
        now = [0.0]

        def sleep(seconds):
            now[0] += 1.0
            if now[0] < 100:
                _ballot.tell_coming(store, place.name)

        with mock.patch.object(_ballot, "time", mock.Mock(monotonic=lambda: now[0], sleep=sleep)):
            self.assertFalse(_ballot.is_unanimous(store, place, Given("r", "1")))
        self.assertLessEqual(now[0], 100 + 2 * place.within)

    def test_a_rank_that_comes_after_the_others_gave_up_does_not_save_either(self):
        store = MemoryStore()
        for given in (Given("r", "1"), Given("r", "1")):
            self.assertFalse(_ballot.is_unanimous(store, _ballot.Place("10/0", WORLD, 0.0), given))

    def test_no_rank_waits_when_one_has_no_folder(self):
        self.assertEqual(self.vote([None, Given("r", "1")], within=1e9), [False, False])

    def test_a_rank_without_a_folder_is_never_told_to_save(self):
        store = MemoryStore()
        place = _ballot.Place("10/0", 1, 30.0)
        self.assertTrue(_ballot.is_unanimous(store, place, Given("r", "1")))
        self.assertFalse(_ballot.is_unanimous(store, place, None))
        self.assertFalse(_ballot.is_unanimous(store, place, Given("r", "2")))


if __name__ == "__main__":
    unittest.main()
