"""Nodes with a run each that hold different checkpoints: all ranks resume from the newest one that
all of them hold."""

import unittest
from pathlib import Path
from unittest import mock

import holdfast
from holdfast import _distributed
from holdfast._agreement import Channel
from holdfast._together import ResumeDisagreement

from fake_supervisor import FakeSupervisor

OTHER_RUN = 1


class OtherNode(Channel):
    """A world of two ranks. The other rank holds these steps and finds some of them bad."""

    def __init__(self, steps, bad=(), run=OTHER_RUN):
        self.steps, self.bad, self.run = list(steps), set(bad), run
        self.asked = []

    def gather(self, values):
        if len(values) == 3:
            theirs = [self.run or values[0], self.steps[0] if self.steps else -1, 2]
        elif len(values) == 1:
            theirs = list(values)
        else:
            padding = [-1] * (len(values) - 1 - len(self.steps))
            theirs = [self.run or values[0], *self.steps, *padding]
        return [list(values), theirs]

    def is_unanimous(self, place, given):
        self.asked.append((place, given is not None))
        return given is not None and place not in {f"resume-{step}" for step in self.bad}

    def tell_coming(self, place):
        pass


class ResumeTogether(unittest.TestCase):
    def resume(self, channel, steps, bad=()):
        """The step from which this rank resumes, when it holds these steps."""
        supervisor = FakeSupervisor()
        resume = {"path": f"/run/step-{steps[0]}", "step": steps[0], "save": f"save-{steps[0]}"} if steps else None
        welcome = supervisor.answers["hello"]
        supervisor.answers["hello"] = lambda message: {**welcome(message), "resume": resume, "steps": steps}
        self.agreed = []
        supervisor.answers["take"] = lambda message: (self.agreed.append(message["step"]) if message["agreed"] else None) or {
            "type": "taken",
            "step": message["step"],
            "resume": None
            if message["step"] in bad
            else {"path": f"/run/step-{message['step']}", "step": message["step"], "save": f"save-{message['step']}"},
            "reason": "damaged" if message["step"] in bad else None,
        }
        loaded = []
        with mock.patch.object(_distributed, "is_ready", lambda: True), mock.patch.object(_distributed, "meet", lambda: channel):
            start = holdfast.attach(supervisor.env(RANK="0", WORLD_SIZE="2")).resume(loaded.append)
        return start, loaded

    def test_ranks_resume_from_the_newest_step_that_all_of_them_hold(self):
        with self.assertLogs("holdfast", "WARNING") as logs:
            self.assertEqual(self.resume(OtherNode([5, 3]), [7, 5, 3]), (6, [Path("/run/step-5")]))
        self.assertIn("step 5", logs.output[-1])
        self.assertEqual(self.agreed, [5])

    def test_ranks_resume_from_the_same_step_whichever_is_ahead(self):
        with self.assertLogs("holdfast", "WARNING"):
            self.assertEqual(self.resume(OtherNode([9, 7]), [7, 5]), (8, [Path("/run/step-7")]))

    def test_no_rank_resumes_from_a_checkpoint_that_is_bad_on_any_node(self):
        for channel, bad in ((OtherNode([5, 3], bad=[5]), ()), (OtherNode([5, 3]), (5,))):
            with self.assertLogs("holdfast", "WARNING"):
                self.assertEqual(self.resume(channel, [7, 5, 3], bad), (4, [Path("/run/step-3")]))
            self.assertEqual(channel.asked[0], ("resume-5", not bad))

    def test_ranks_that_hold_the_same_step_ask_no_further(self):
        channel = OtherNode([7, 5])
        self.assertEqual(self.resume(channel, [7, 3]), (8, [Path("/run/step-7")]))
        self.assertEqual(channel.asked, [])

    def test_ranks_without_a_common_step_load_nothing(self):
        for theirs, mine in (([6, 4], [7, 5]), ([], [7]), ([7], [])):
            with self.assertRaisesRegex(ResumeDisagreement, "no checkpoint is on all nodes"):
                self.resume(OtherNode(theirs), mine)

    def test_two_checkpoints_in_one_run_are_an_error_and_not_a_choice(self):
        channel = OtherNode([5, 3], run=None)
        with self.assertRaises(ResumeDisagreement):
            self.resume(channel, [7, 5, 3])
        self.assertEqual(channel.asked, [])


if __name__ == "__main__":
    unittest.main()
