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
from holdfast import _distributed, _supervisor
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
    """Two ranks that come one after the other, and the numbers that the first one has given."""

    def __init__(self):
        self.first = {}

    def start(self, values):
        self.sent = list(values)

    def largest(self):
        return self.sent

    def gather(self, values):
        # The next question has another number of values.
        return [self.first.setdefault(len(values), list(values)), list(values)]


class Breaking(Meeting):
    def gather(self, values):
        raise Broken("connection reset")


class Dead(unittest.TestCase):
    def attach(self, **more):
        """Forgets all runs, as in a new process: a process that attaches again keeps its run."""
        folder = tempfile.mkdtemp(prefix="holdfast-sdk-")
        self.addCleanup(shutil.rmtree, folder, True)
        path = os.path.join(folder, "sdk")
        # A socket left behind by a dead supervisor: it refuses connections.
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
            dead.bind(path)
        with self.assertLogs("holdfast", "WARNING"):
            run = holdfast.attach({"HOLDFAST_SOCKET": path, **more})
        self.assertFalse(run.is_attached)
        return run


class Alone(Dead):
    def test_without_an_answer_a_trainer_resumes_from_the_checkpoint_in_its_environment(self):
        run = self.attach(**RESUME)
        loaded = []
        self.assertEqual(run.resume(loaded.append), 8)
        self.assertEqual(loaded, [Path("/run/step-7")])
        self.assertFalse(run.step(8))
        run.finish()

    def test_without_an_answer_or_a_checkpoint_a_trainer_starts_fresh(self):
        self.assertEqual(self.attach(HOLDFAST_RUN="r").resume(self.fail), 0)

    def test_a_resume_path_without_a_step_or_a_step_without_a_path_counts_as_nothing(self):
        for left_out in ("HOLDFAST_RESUME_PATH", "HOLDFAST_RESUME_STEP"):
            self.assertEqual(self.attach(**{**RESUME, left_out: ""}).resume(self.fail), 0)

    def test_a_late_welcome_counts_as_no_answer(self):
        supervisor = FakeSupervisor()
        supervisor.answers["hello"] = lambda _: {"type": "relax"}
        with mock.patch.object(_supervisor, "_HELLO_SECONDS", 0.01), self.assertLogs("holdfast", "WARNING"):
            run = holdfast.attach(supervisor.env(**RESUME))
        self.assertEqual(run.resume(lambda _: None), 8)

    def test_the_supervisors_answer_overrides_the_environment(self):
        for said, start in (({"path": "/run/step-9", "step": 9, "save": "b"}, 10), (None, 0)):
            run = holdfast.attach(FakeSupervisor(resume=said).env(**RESUME))
            self.assertEqual(run.resume(lambda _: None), start)


class Ranks(Dead):
    def resume(self, run, channel):
        with mock.patch.object(_distributed, "is_ready", lambda: True), mock.patch.object(_distributed, "meet", lambda: channel):
            return run.resume(lambda _: None)

    def ranks(self, said):
        """One rank that the supervisor has welcomed, and one that it does not answer."""
        welcomed = holdfast.attach(FakeSupervisor(resume=said).env(RANK="0", WORLD_SIZE="2"))
        return welcomed, self.attach(RANK="1", WORLD_SIZE="2", **RESUME)

    def test_a_rank_without_an_answer_resumes_from_the_same_checkpoint_as_the_others(self):
        channel = Meeting()
        self.assertEqual([self.resume(run, channel) for run in self.ranks(WELCOME)], [8, 8])

    def test_a_rank_without_an_answer_does_not_resume_from_another_checkpoint(self):
        for said in (None, {**WELCOME, "step": 9}, {**WELCOME, "save": "b"}):
            channel = Meeting()
            welcomed, alone = self.ranks(said)
            self.resume(welcomed, channel)
            with self.assertRaises(ResumeDisagreement):
                self.resume(alone, channel)

    def test_ranks_that_lose_each_other_while_they_ask_do_not_resume(self):
        for run in self.ranks(WELCOME):
            with self.assertRaisesRegex(ResumeDisagreement, "connection reset"):
                self.resume(run, Breaking())

    def test_a_trainer_may_attach_in_some_ranks_only(self):
        self.assertEqual([self.resume(run, None) for run in self.ranks(WELCOME)], [8, 8])

    def test_the_first_rank_warns_once_that_ranks_on_several_nodes_cannot_ask_each_other(self):
        for rank, local, told in (("0", "1", 1), ("1", "1", 0), ("0", "2", 0)):
            run = holdfast.attach(FakeSupervisor().env(RANK=rank, WORLD_SIZE="2", LOCAL_WORLD_SIZE=local))
            with self.assertLogs("holdfast") as logs:
                logging.getLogger("holdfast").info("at least one line")
                for step in range(3):
                    run.step(step)
            self.assertEqual(sum("torch.distributed is not initialised" in line for line in logs.output), told)

    def test_a_rank_without_an_answer_takes_part_in_agreements(self):
        channel = Meeting()
        _, alone = self.ranks(WELCOME)
        with mock.patch.object(_distributed, "is_ready", lambda: True), mock.patch.object(_distributed, "meet", lambda: channel):
            self.assertFalse(alone.step(8))
        self.assertEqual(channel.sent[-2:], [8, -8])


if __name__ == "__main__":
    unittest.main()
