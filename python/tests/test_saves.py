import itertools
import threading
import unittest
from time import monotonic

from fake_supervisor import FakeSupervisor, attach, await_loss, hear


def evaluate(seconds):
    """The trainer does other work for at least this long."""
    until = monotonic() + seconds
    while monotonic() < until:
        pass


class Saves(unittest.TestCase):
    def test_an_error_in_the_block_gives_up_the_save_and_is_raised(self):
        supervisor = FakeSupervisor(every_steps=1)
        run = attach(supervisor)
        self.assertTrue(run.step(1))
        with self.assertRaises(OSError), run.save(1):
            raise OSError("disk full")
        self.assertEqual(supervisor.expect("failed")["reason"], "OSError: disk full")

    def test_a_complete_save_is_marked_in_its_folder_even_if_the_supervisor_is_gone(self):
        supervisor = FakeSupervisor(every_steps=1)
        run = attach(supervisor)
        for step, goes_away in ((1, False), (2, True)):
            self.assertTrue(run.step(step))
            with run.save(step) as folder:
                mark = folder.parent / (folder.name + ".mark")
                self.assertFalse(mark.exists())
                if goes_away:
                    supervisor.vanish()
            self.assertTrue(mark.exists())

    def test_an_incomplete_save_is_not_marked(self):
        supervisor = FakeSupervisor(every_steps=1)
        run = attach(supervisor)
        self.assertTrue(run.step(1))
        with self.assertRaises(OSError), run.save(1) as folder:
            raise OSError("disk full")
        self.assertFalse((folder.parent / (folder.name + ".mark")).exists())

    def test_a_save_of_another_step_than_the_due_one_asks_for_a_new_folder(self):
        supervisor = FakeSupervisor(every_steps=5)
        run = attach(supervisor)
        self.assertTrue(run.step(5))
        with run.save(6):
            pass
        self.assertEqual([supervisor.expect("begin")["step"], supervisor.expect("failed")["save"]], [5, "1"])
        self.assertEqual([supervisor.expect("begin")["step"], supervisor.expect("saved")["save"]], [6, "2"])

    def test_a_due_save_that_does_not_follow_is_given_up_at_the_next_step(self):
        for then in (11, 20):
            supervisor = FakeSupervisor(every_steps=10)
            run = attach(supervisor)
            self.assertTrue(run.step(10))
            self.assertEqual(run.step(then), then == 20)
            self.assertEqual([supervisor.expect("begin")["step"], supervisor.expect("failed")["save"]], [10, "1"])
        self.assertEqual(supervisor.expect("begin")["step"], 20)
        with run.save(20):
            pass
        self.assertEqual(supervisor.expect("saved")["save"], "2")

    def test_a_due_save_starts_when_the_background_save_before_it_is_handed_over(self):
        supervisor = FakeSupervisor(every_steps=10)
        run = attach(supervisor)
        self.assertTrue(run.step(10))
        block = run.save(10)
        block.__enter__()
        block.in_background()
        writer = threading.Timer(0.05, block.__exit__, (None, None, None))
        writer.start()
        self.addCleanup(writer.join)
        self.assertFalse(run.step(11))
        self.assertTrue(run.step(20))
        said = iter(lambda: supervisor.heard.get(timeout=60), None)
        told = [one["type"] for one in itertools.takewhile(lambda one: one.get("step") != 20 or one["type"] != "begin", said)]
        self.assertEqual([kind for kind in told if kind != "step"], ["begin", "saved"])

    def test_no_save_starts_when_the_supervisor_dies_during_a_background_save(self):
        supervisor = FakeSupervisor(every_steps=10)
        run = attach(supervisor)
        self.assertTrue(run.step(10))
        with self.assertLogs("holdfast", "WARNING"), run.save(10):
            supervisor.vanish()
            self.assertFalse(run.step(20))
            await_loss(run)

    def test_the_wait_for_other_ranks_is_reported_apart_from_writing(self):
        class Slow:
            every, is_agreeing = 1, False

            def is_due(self, step, is_asked):
                return False

            def tell_coming(self, step):
                pass

            def is_for_all(self, step, given):
                evaluate(0.02)
                return True

        supervisor = FakeSupervisor(every_steps=1)
        run = attach(supervisor, RANK="0", WORLD_SIZE="2")
        run._due_save._together = Slow()
        self.assertTrue(run.step(1))
        with run.save(1) as folder:
            (folder / "state").write_text("x")
        self.assertGreaterEqual(supervisor.expect("saved")["waitedMs"], 20)

    def test_a_single_rank_reports_no_wait_for_other_ranks(self):
        supervisor = FakeSupervisor(every_steps=1)
        run = attach(supervisor)
        self.assertTrue(run.step(1))
        with run.save(1):
            pass
        self.assertNotIn("waitedMs", supervisor.expect("saved"))

    def test_work_between_a_step_and_its_save_is_reported_apart_from_writing_and_stalling(self):
        supervisor = FakeSupervisor(every_steps=1)
        run = attach(supervisor)
        self.assertTrue(run.step(1))
        evaluate(0.02)
        with run.save(1):
            pass
        told = supervisor.expect("saved")
        self.assertGreaterEqual(told["betweenMs"], 20)
        self.assertNotIn("stallMs", told)

    def test_work_between_a_step_and_its_background_save_does_not_count_as_a_stall(self):
        supervisor = FakeSupervisor(every_steps=1)
        run = attach(supervisor)
        self.assertTrue(run.step(1))
        evaluate(0.02)
        block = run.save(1)
        began = monotonic()
        block.__enter__()
        block.in_background()
        stood = (monotonic() - began) * 1000
        block.__exit__(None, None, None)
        told = supervisor.expect("saved")
        self.assertGreaterEqual(told["betweenMs"], 20)
        self.assertLessEqual(told["stallMs"], stood + 1)

    def test_a_save_that_was_not_due_asks_for_its_folder_first(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        with run.save(1):
            pass
        self.assertNotIn("betweenMs", supervisor.expect("saved"))

    def test_finish_inside_a_save_block_does_not_wait_for_that_block(self):
        supervisor = FakeSupervisor(every_steps=10)
        run = attach(supervisor)
        with run.save(10):
            run.finish()
        self.assertEqual([supervisor.expect("finish")["type"], supervisor.expect("saved")["save"]], ["finish", "1"])

    def test_finish_waits_for_a_background_save(self):
        supervisor = FakeSupervisor(every_steps=10)
        run = attach(supervisor)
        block = run.save(10)
        block.__enter__()
        block.in_background()
        writer = threading.Timer(0.05, block.__exit__, (None, None, None))
        writer.start()
        self.addCleanup(writer.join)
        run.finish()
        said = iter(lambda: supervisor.heard.get(timeout=60)["type"], "finish")
        self.assertIn("saved", list(said))

    def test_last_sealed_is_the_newest_sealed_step(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        self.assertIsNone(run.last_sealed)
        hear(run, supervisor)
        self.assertEqual(run.last_sealed, 1_000_000)
