import logging
import os
import shutil
import socket
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import holdfast
from fake_supervisor import FakeSupervisor
from holdfast import _distributed, _run
from holdfast._agreement import Broken, Channel
from holdfast._together import ResumeDisagreement

RESUME = {
    "HOLDFAST_RUN": "r",
    "HOLDFAST_RESUME_PATH": "/run/step-7",
    "HOLDFAST_RESUME_STEP": "7",
    "HOLDFAST_RESUME_SAVE": "a",
}
WELCOME = {"path": "/run/step-7", "step": 7, "save": "a"}


class Meeting(Channel):
    """Two ranks that come one after the other, and what the first of them has given."""

    def __init__(self):
        self.first = {}

    def start(self, values):
        self.sent = list(values)

    def largest(self):
        return self.sent

    def gather(self, values):
        # What is asked for next has another number of values.
        return [self.first.setdefault(len(values), list(values)), list(values)]


class Breaking(Meeting):
    def gather(self, values):
        raise Broken("connection reset")


class Dead(unittest.TestCase):
    def attach(self, **more):
        """As a process of its own: one that attaches again has the run that it had."""
        folder = tempfile.mkdtemp(prefix="holdfast-sdk-")
        self.addCleanup(shutil.rmtree, folder, True)
        path = os.path.join(folder, "sdk")
        # Left behind by a supervisor that is dead: whoever connects is refused.
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
            dead.bind(path)
        with self.assertLogs("holdfast", "WARNING"):
            run = holdfast.attach({"HOLDFAST_SOCKET": path, **more})
        self.assertFalse(run.is_attached)
        return run


class Alone(Dead):
    def test_a_trainer_resumes_from_what_it_was_started_with(self):
        run = self.attach(**RESUME)
        loaded = []
        self.assertEqual(run.resume(loaded.append), 8)
        self.assertEqual(loaded, [Path("/run/step-7")])
        self.assertFalse(run.step(8))
        run.finish()

    def test_one_that_was_started_fresh_starts_fresh(self):
        self.assertEqual(self.attach(HOLDFAST_RUN="r").resume(self.fail), 0)

    def test_half_of_what_it_takes_to_resume_is_nothing(self):
        for left_out in ("HOLDFAST_RESUME_PATH", "HOLDFAST_RESUME_STEP"):
            self.assertEqual(self.attach(**{**RESUME, left_out: ""}).resume(self.fail), 0)

    def test_no_welcome_in_time_is_no_answer_either(self):
        supervisor = FakeSupervisor()
        supervisor.answers["hello"] = lambda _: {"type": "relax"}
        with mock.patch.object(_run, "_HELLO_SECONDS", 0.01), self.assertLogs("holdfast", "WARNING"):
            run = holdfast.attach(supervisor.env(**RESUME))
        self.assertEqual(run.resume(lambda _: None), 8)

    def test_what_the_supervisor_says_counts_more_than_the_environment(self):
        for said, start in (({"path": "/run/step-9", "step": 9, "save": "b"}, 10), (None, 0)):
            run = holdfast.attach(FakeSupervisor(resume=said).env(**RESUME))
            self.assertEqual(run.resume(lambda _: None), start)


class Ranks(Dead):
    def resume(self, run, channel):
        with mock.patch.object(_distributed, "is_ready", lambda: True), mock.patch.object(_distributed, "meet", lambda: channel):
            return run.resume(lambda _: None)

    def ranks(self, said):
        """One that the supervisor has welcomed, and one that it does not answer."""
        welcomed = holdfast.attach(FakeSupervisor(resume=said).env(RANK="0", WORLD_SIZE="2"))
        return welcomed, self.attach(RANK="1", WORLD_SIZE="2", **RESUME)

    def test_one_without_an_answer_goes_on_with_the_others_from_the_same_checkpoint(self):
        channel = Meeting()
        self.assertEqual([self.resume(run, channel) for run in self.ranks(WELCOME)], [8, 8])

    def test_one_without_an_answer_does_not_go_on_from_another_checkpoint_than_the_others(self):
        for said in (None, {**WELCOME, "step": 9}, {**WELCOME, "save": "b"}):
            channel = Meeting()
            welcomed, alone = self.ranks(said)
            self.resume(welcomed, channel)
            with self.assertRaises(ResumeDisagreement):
                self.resume(alone, channel)

    def test_ranks_that_lose_each_other_while_they_ask_do_not_go_on(self):
        for run in self.ranks(WELCOME):
            with self.assertRaisesRegex(ResumeDisagreement, "connection reset"):
                self.resume(run, Breaking())

    def test_a_trainer_may_attach_in_some_ranks_alone(self):
        self.assertEqual([self.resume(run, None) for run in self.ranks(WELCOME)], [8, 8])

    def test_ranks_on_several_nodes_that_cannot_ask_each_other_are_told_once_by_the_first(self):
        for rank, local, told in (("0", "1", 1), ("1", "1", 0), ("0", "2", 0)):
            run = holdfast.attach(FakeSupervisor().env(RANK=rank, WORLD_SIZE="2", LOCAL_WORLD_SIZE=local))
            with self.assertLogs("holdfast") as logs:
                logging.getLogger("holdfast").info("at least one line")
                for step in range(3):
                    run.step(step)
            self.assertEqual(sum("torch.distributed is not initialised" in line for line in logs.output), told)

    def test_one_without_an_answer_takes_part_in_what_the_others_agree_on(self):
        channel = Meeting()
        _, alone = self.ranks(WELCOME)
        with mock.patch.object(_distributed, "is_ready", lambda: True), mock.patch.object(_distributed, "meet", lambda: channel):
            self.assertFalse(alone.step(8))
        self.assertEqual(channel.sent[-2:], [8, -8])


if __name__ == "__main__":
    unittest.main()
