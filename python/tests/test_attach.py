import os
import unittest
from pathlib import Path

import holdfast
from fake_supervisor import FakeSupervisor, attach, await_loss


class Outside(unittest.TestCase):
    def test_nothing_is_due_and_a_resume_starts_fresh(self):
        run = holdfast.attach({})
        self.assertFalse(run.is_attached)
        self.assertEqual(run.resume(self.fail), 0)
        self.assertFalse(run.step(1, loss=0.5))
        run.finish()

    def test_a_save_goes_into_a_folder_that_is_thrown_away(self):
        run = holdfast.attach({})
        with self.assertLogs("holdfast", "WARNING"), run.save(3) as folder:
            (folder / "state").write_text("x")
        self.assertFalse(folder.exists())

    def test_a_socket_that_nobody_listens_on_is_a_warning(self):
        with self.assertLogs("holdfast", "WARNING"):
            run = holdfast.attach({"HOLDFAST_SOCKET": "/nonexistent/sdk"})
        self.assertFalse(run.is_attached)

    def test_a_supervisor_of_another_protocol_is_a_warning(self):
        supervisor = FakeSupervisor(protocol="holdfast.sdk/9")
        with self.assertLogs("holdfast", "WARNING"):
            run = holdfast.attach(supervisor.env())
        self.assertFalse(run.is_attached)


class Attached(unittest.TestCase):
    def test_it_says_who_it_is(self):
        supervisor = FakeSupervisor()
        run = holdfast.attach(supervisor.env(RANK="2", WORLD_SIZE="4"))
        hello = supervisor.expect("hello")
        self.assertEqual((hello["rank"], hello["world"], hello["pid"]), (2, 4, os.getpid()))
        self.assertEqual(run.attempt, 3)

    def test_a_rank_that_makes_no_sense_is_taken_for_a_single_process(self):
        supervisor = FakeSupervisor()
        holdfast.attach(supervisor.env(RANK="4", WORLD_SIZE="4"))
        self.assertEqual(supervisor.expect("hello")["world"], 1)

    def test_resume_loads_the_last_good_and_goes_on_after_it(self):
        run = attach(FakeSupervisor(resume={"path": "/run/step-7", "step": 7}))
        loaded = []
        self.assertEqual(run.resume(loaded.append), 8)
        self.assertEqual(loaded, [Path("/run/step-7")])

    def test_an_error_of_the_loader_is_the_callers(self):
        run = attach(FakeSupervisor(resume={"path": "/run/step-7", "step": 7}))

        def load(_):
            raise ValueError("bad")

        with self.assertRaises(ValueError):
            run.resume(load)

    def test_who_attaches_again_gets_the_same_run(self):
        supervisor = FakeSupervisor(every_steps=1)
        run = attach(supervisor)
        self.assertIs(holdfast.attach(supervisor.env()), run)
        self.assertIsNot(attach(FakeSupervisor()), run)

    def test_who_attaches_again_is_heard_again_and_stays_with_the_other_ranks(self):
        supervisor = FakeSupervisor(every_steps=10)
        run = attach(supervisor, RANK="0", WORLD_SIZE="2")
        run._together._has_looked, run._together.every = True, 5
        with self.assertLogs("holdfast", "WARNING"):
            supervisor.hang_up()
            await_loss(run)
        self.assertIs(attach(supervisor, RANK="0", WORLD_SIZE="2"), run)
        self.assertTrue(run.is_attached)
        self.assertEqual(run._together.every, 5)

    def test_who_attaches_as_another_rank_is_that_one_alone(self):
        supervisor = FakeSupervisor()
        first = attach(supervisor)
        with self.assertLogs("holdfast", "WARNING"):
            second = holdfast.attach(supervisor.env(RANK="1", WORLD_SIZE="2"))
        self.assertEqual([first.is_attached, second.is_attached], [False, True])
        supervisor.expect("closed")
        self.assertEqual(supervisor.expect("hello")["rank"], 1)
