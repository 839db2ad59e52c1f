"""Ranks whose supervisors fail one of them, at each moment at which one can: they do the same all the same."""

import contextlib
import logging
import os
import threading
import unittest
from unittest import mock

import holdfast
from fake_supervisor import FakeSupervisor
from holdfast import _ballot, _distributed
from holdfast._agreement import Broken
from holdfast._ballot import Given
from test_agreement import Wire, WireChannel

WORLD = 2
REFUSED = {"type": "refused", "code": "SAVE_INCOMPLETE", "reason": "the first node did not come"}


class MemoryStore:
    """What torch's store promises, between threads."""

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

    def is_unanimous(self, place, given):
        return _ballot.is_unanimous(self.store, _ballot.Place(place, self.wire.world, self.within), given)


class Parting(Voting):
    """Loses the others at the first agreement, as after a time-out."""

    def largest(self):
        raise Broken("connection reset")


class Cut(Voting):
    """Reaches nobody when it comes to a save."""

    def is_unanimous(self, place, given):
        raise Broken("connection refused")


def on_each(world, act):
    """What ``act(rank)`` returns on a thread for each rank; its error is the test's."""
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
    """Two ranks, each with a supervisor of its own, as on two nodes; the second supervisor is the one that fails."""

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
        """The steps at which each rank has saved, and for each whether its folder is one that is kept; ``at(rank, step)`` comes before each step."""

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
        """The saves that this rank has said of that they come to nothing, and those that it has handed over."""
        told = {"failed": [], "saved": []}
        with contextlib.suppress(Exception):
            while True:
                message = self.supervisors[rank].heard.get_nowait()
                told.get(message["type"], []).append(message.get("save"))
        return told["failed"], told["saved"]

    def test_all_save_when_all_were_given_a_folder(self):
        self.assertEqual(self.train(25), [[(10, True), (20, True)]] * WORLD)

    def test_nothing_is_left_between_ranks_that_have_finished_but_what_may_still_be_on_its_way(self):
        for channel, is_closed in ((Voting, True), (Parting, False)):
            self.gather(channel, (10, 10))
            self.train(1)
            self.assertEqual([one.is_closed for one in self.channels], [is_closed] * WORLD)

    def test_none_saves_when_a_supervisor_dies_before_it_answers(self):
        supervisor = self.supervisors[1]
        supervisor.answers["begin"] = lambda _: supervisor.vanish()
        self.assertEqual(self.train(25), [[], []])
        self.assertEqual(self.gave_back(0), (["1", "2"], []))

    def test_none_saves_when_a_supervisor_refuses(self):
        give = self.supervisors[1].answers["begin"]
        self.supervisors[1].answers["begin"] = lambda message: give(message) if message["step"] > 10 else {**REFUSED, "step": message["step"]}
        # Of one shared run: what is opened has the same name for all.
        self.supervisors[1]._saves = 1
        self.assertEqual(self.train(25), [[(20, True)]] * WORLD)
        self.assertEqual(self.gave_back(0), (["1"], ["2"]))

    def test_none_saves_when_a_supervisor_is_gone_before_the_save(self):
        def at(rank, step, run):
            if rank == 1 and step == 15:
                self.supervisors[1].vanish()

        self.assertEqual(self.train(25, at), [[(10, True)]] * WORLD)

    def test_none_saves_when_one_could_not_attach(self):
        os.unlink(self.supervisors[1].path)
        self.assertEqual(self.train(25), [[], []])
        self.assertEqual(self.gave_back(0), (["1", "2"], []))

    def test_none_saves_into_the_folders_of_two_saves(self):
        self.supervisors[1]._saves = 7
        self.assertEqual(self.train(15), [[], []])
        self.assertEqual([self.gave_back(rank) for rank in range(WORLD)], [(["1"], []), (["8"], [])])

    def test_nodes_that_have_a_run_each_have_a_save_each(self):
        welcome = self.supervisors[1].answers["hello"]
        self.supervisors[1].answers["hello"] = lambda message: {**welcome(message), "run": "of another node"}
        self.supervisors[1]._saves = 7
        self.assertEqual(self.train(15), [[(10, True)]] * WORLD)

    def test_a_supervisor_that_dies_after_the_folders_are_given_parts_nobody(self):
        def main(rank):
            run, supervisor = self.attach(rank), self.supervisors[rank]
            run.step(9)
            is_due = run.step(10)
            if rank == 1:
                supervisor.vanish()
            with run.save(10) as folder:
                return is_due, str(folder).startswith(supervisor.folder)

        self.assertEqual(on_each(WORLD, main), [(True, True)] * WORLD)

    def test_a_save_that_the_trainer_itself_wants_is_kept_for_all_or_for_none(self):
        def main(rank):
            run, kept = self.attach(rank), []
            for step in (1, 2, 2):
                with run.save(step) as folder:
                    kept.append(str(folder).startswith(self.supervisors[rank].folder))
                if rank == 1:
                    self.supervisors[1].answers["begin"] = lambda message: {**REFUSED, "step": message["step"]}
            return kept

        self.assertEqual(on_each(WORLD, main), [[True, False, False]] * WORLD)

    def test_a_cadence_that_one_of_them_was_not_told_is_kept_by_all(self):
        for other in (None, 30):
            self.gather(Voting, (10, other))
            self.assertEqual(self.train(25), [[(10, True), (20, True)]] * WORLD)

    def test_ranks_that_cannot_agree_on_steps_any_more_still_save_all_or_none(self):
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

    def test_a_rank_that_does_not_come_is_waited_for_no_longer_than_the_bound(self):
        self.assertEqual(self.vote([Given("r", "1")], within=0.0), [False])

    def test_one_that_comes_when_the_others_have_given_up_does_not_save_either(self):
        store = MemoryStore()
        for given in (Given("r", "1"), Given("r", "1")):
            self.assertFalse(_ballot.is_unanimous(store, _ballot.Place("10/0", WORLD, 0.0), given))

    def test_nobody_waits_when_one_has_nothing(self):
        self.assertEqual(self.vote([None, Given("r", "1")], within=1e9), [False, False])

    def test_no_rank_without_a_folder_is_ever_told_to_save(self):
        store = MemoryStore()
        place = _ballot.Place("10/0", 1, 30.0)
        self.assertTrue(_ballot.is_unanimous(store, place, Given("r", "1")))
        self.assertFalse(_ballot.is_unanimous(store, place, None))
        self.assertFalse(_ballot.is_unanimous(store, place, Given("r", "2")))


if __name__ == "__main__":
    unittest.main()
