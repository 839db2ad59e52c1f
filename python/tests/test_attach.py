import os
import unittest
from pathlib import Path

import holdfast
from fake_supervisor import FakeSupervisor, attach, await_loss


class Outside(unittest.TestCase):
    def test_without_a_supervisor_no_save_is_due_and_a_resume_starts_fresh(self):
        run = holdfast.attach({})
        self.assertFalse(run.is_attached)
        self.assertEqual(run.resume(self.fail), 0)
        self.assertFalse(run.step(1, loss=0.5))
        run.finish()

    def test_without_a_supervisor_a_save_goes_to_a_folder_that_is_deleted(self):
        run = holdfast.attach({})
        with self.assertLogs("holdfast", "WARNING"), run.save(3) as folder:
            (folder / "state").write_text("x")
        self.assertFalse(folder.exists())

    def test_a_socket_without_a_listener_is_a_warning(self):
        with self.assertLogs("holdfast", "WARNING"):
            run = holdfast.attach({"HOLDFAST_SOCKET": "/nonexistent/sdk"})
        self.assertFalse(run.is_attached)

    def test_a_supervisor_with_another_protocol_is_a_warning(self):
        supervisor = FakeSupervisor(protocol="holdfast.sdk/9")
        with self.assertLogs("holdfast", "WARNING"):
            run = holdfast.attach(supervisor.env())
        self.assertFalse(run.is_attached)


class Attached(unittest.TestCase):
    def test_hello_names_the_rank_and_the_process(self):
        supervisor = FakeSupervisor()
        run = holdfast.attach(supervisor.env(RANK="2", WORLD_SIZE="4"))
        hello = supervisor.expect("hello")
        self.assertEqual((hello["rank"], hello["world"], hello["pid"]), (2, 4, os.getpid()))
        self.assertEqual(run.attempt, 3)

    def test_a_nonsensical_rank_counts_as_a_single_process(self):
        supervisor = FakeSupervisor()
        holdfast.attach(supervisor.env(RANK="4", WORLD_SIZE="4"))
        self.assertEqual(supervisor.expect("hello")["world"], 1)

    def test_resume_loads_the_last_good_checkpoint_and_returns_the_step_after_it(self):
        run = attach(FakeSupervisor(resume={"path": "/run/step-7", "step": 7}))
        loaded = []
        self.assertEqual(run.resume(loaded.append), 8)
        self.assertEqual(loaded, [Path("/run/step-7")])

    def test_resume_raises_an_error_of_the_load_function(self):
        run = attach(FakeSupervisor(resume={"path": "/run/step-7", "step": 7}))

        def load(_):
            raise ValueError("bad")

        with self.assertRaises(ValueError):
            run.resume(load)

    def test_attaching_again_returns_the_same_run(self):
        supervisor = FakeSupervisor(every_steps=1)
        run = attach(supervisor)
        self.assertIs(holdfast.attach(supervisor.env()), run)
        self.assertIsNot(attach(FakeSupervisor()), run)

    def test_attaching_again_reconnects_and_keeps_the_agreement_with_the_other_ranks(self):
        supervisor = FakeSupervisor(every_steps=10)
        run = attach(supervisor, RANK="0", WORLD_SIZE="2")
        run._together._has_looked, run._together.every = True, 5
        with self.assertLogs("holdfast", "WARNING"):
            supervisor.hang_up()
            await_loss(run)
        self.assertIs(attach(supervisor, RANK="0", WORLD_SIZE="2"), run)
        self.assertTrue(run.is_attached)
        self.assertEqual(run._together.every, 5)

    def test_a_process_that_attaches_as_another_rank_counts_only_as_that_rank(self):
        supervisor = FakeSupervisor()
        first = attach(supervisor)
        with self.assertLogs("holdfast", "WARNING"):
            second = holdfast.attach(supervisor.env(RANK="1", WORLD_SIZE="2"))
        self.assertEqual([first.is_attached, second.is_attached], [False, True])
        supervisor.expect("closed")
        self.assertEqual(supervisor.expect("hello")["rank"], 1)
