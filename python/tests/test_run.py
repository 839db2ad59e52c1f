import itertools
import os
import threading
import unittest
from pathlib import Path
from time import monotonic

import holdfast
from fake_supervisor import FakeSupervisor, attach, await_loss, hear


def evaluate(seconds):
    """The trainer does something else for so long at least."""
    until = monotonic() + seconds
    while monotonic() < until:
        pass


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

    def test_progress_is_coalesced_and_the_last_of_it_is_told_at_the_end(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        for step in range(1000):
            run.step(step, loss=1.0, text="no number", bad=float("nan"))
        run.finish()
        told = []
        while True:
            message = supervisor.heard.get(timeout=10)
            if message["type"] == "finish":
                break
            told.append(message)
        self.assertEqual(told[0], {"type": "step", "step": 0, "metrics": {"loss": 1.0}})
        self.assertEqual(told[-1]["step"], 999)
        self.assertLess(len(told), 20)

    def test_a_save_that_was_asked_for_is_due_at_the_next_step(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        supervisor.say({"type": "save", "why": "cadence", "at": None})
        hear(run, supervisor)
        self.assertTrue(run.step(5))
        with run.save(5) as folder:
            (folder / "state").write_text("x")
        self.assertEqual(supervisor.expect("begin")["step"], 5)
        self.assertEqual(supervisor.expect("saved")["save"], "1")
        self.assertFalse(run.step(6))

    def test_a_step_may_be_a_number_of_another_kind(self):
        class Scalar:
            def __int__(self):
                return 5

        supervisor = FakeSupervisor(every_steps=5)
        run = attach(supervisor)
        self.assertTrue(run.step(Scalar()))
        with run.save(Scalar()) as folder:
            (folder / "state").write_text("x")
        self.assertEqual(supervisor.expect("begin")["step"], 5)
        self.assertEqual(supervisor.expect("saved")["save"], "1")

    def test_a_save_at_a_step_waits_for_it(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        supervisor.say({"type": "save", "why": "notice", "at": 5000})
        hear(run, supervisor)
        self.assertEqual(next(step for step in range(6000) if run.step(step)), 5000)

    def test_a_step_that_lies_behind_is_told(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        supervisor.say({"type": "save", "why": "notice", "at": 3})
        hear(run, supervisor)
        self.assertFalse(run.step(10))
        self.assertEqual(supervisor.expect("late"), {"type": "late", "at": 3, "step": 10})

    def test_a_step_that_lies_behind_is_told_also_while_no_step_is_made(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        self.assertFalse(run.step(10))
        supervisor.say({"type": "save", "why": "notice", "at": 10})
        self.assertEqual(supervisor.expect("late"), {"type": "late", "at": 10, "step": 10})

    def test_a_step_that_is_passed_in_the_moment_it_is_asked_for_is_told_too(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        self.assertFalse(run.step(9))
        supervisor.say({"type": "save", "why": "notice", "at": 10})
        hear(run, supervisor)
        # As if it had looked whether anything was asked for just before that came.
        run._passed = 10
        self.assertEqual(supervisor.expect("late"), {"type": "late", "at": 10, "step": 10})

    def test_steps_that_were_not_told_at_once_are_told_before_the_end(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        for step in range(1, 50):
            self.assertFalse(run.step(step))
        run.finish()
        told = [supervisor.expect("step")["step"]]
        while told[-1] < 49:
            told.append(supervisor.expect("step")["step"])
        self.assertEqual((told[0], told[-1]), (1, 49))

    def test_a_step_counts_as_it_was_also_when_its_number_goes_on_counting(self):
        class Counter:
            value = 1

            def __int__(self):
                return self.value

        supervisor = FakeSupervisor()
        run, counter = attach(supervisor), Counter()
        for _ in range(2):
            self.assertFalse(run.step(counter))
            counter.value += 1
        run.finish()
        self.assertEqual([supervisor.expect("step")["step"] for _ in range(2)], [1, 2])

    def test_a_save_that_is_not_wanted_any_more_is_not_due(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        supervisor.say({"type": "save", "why": "asked", "at": None})
        supervisor.say({"type": "relax"})
        hear(run, supervisor)
        self.assertFalse(run.step(1))

    def test_a_cadence_in_steps_is_kept_without_asking(self):
        run = attach(FakeSupervisor(every_steps=10))
        due = []
        for step in range(35):
            if run.step(step):
                due.append(step)
                with run.save(step):
                    pass
        self.assertEqual(due, [10, 20, 30])

    def test_a_refused_save_is_not_due(self):
        supervisor = FakeSupervisor(every_steps=10)
        supervisor.answers["begin"] = lambda _: {"type": "refused", "code": "SAVE_DOES_NOT_FIT", "reason": "no room"}
        run = attach(supervisor)
        with self.assertLogs("holdfast", "WARNING") as logged:
            self.assertFalse(run.step(10))
        self.assertIn("no room", logged.output[0])

    def test_an_error_in_the_block_gives_the_save_up_and_is_raised(self):
        supervisor = FakeSupervisor(every_steps=1)
        run = attach(supervisor)
        self.assertTrue(run.step(1))
        with self.assertRaises(OSError), run.save(1):
            raise OSError("disk full")
        self.assertEqual(supervisor.expect("failed")["reason"], "OSError: disk full")

    def test_what_is_written_is_marked_on_the_spot_also_when_nobody_listens_any_more(self):
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

    def test_what_could_not_be_written_is_not_marked(self):
        supervisor = FakeSupervisor(every_steps=1)
        run = attach(supervisor)
        self.assertTrue(run.step(1))
        with self.assertRaises(OSError), run.save(1) as folder:
            raise OSError("disk full")
        self.assertFalse((folder.parent / (folder.name + ".mark")).exists())

    def test_another_step_than_the_one_that_was_due_begins_anew(self):
        supervisor = FakeSupervisor(every_steps=5)
        run = attach(supervisor)
        self.assertTrue(run.step(5))
        with run.save(6):
            pass
        self.assertEqual([supervisor.expect("begin")["step"], supervisor.expect("failed")["save"]], [5, "1"])
        self.assertEqual([supervisor.expect("begin")["step"], supervisor.expect("saved")["save"]], [6, "2"])

    def test_a_save_that_was_due_and_did_not_follow_is_given_back_at_the_next_step(self):
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

    def test_a_save_that_is_due_while_one_is_written_in_the_background_begins_when_that_is_handed_over(self):
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
        said = iter(lambda: supervisor.heard.get(timeout=10), None)
        told = [one["type"] for one in itertools.takewhile(lambda one: one.get("step") != 20 or one["type"] != "begin", said)]
        self.assertEqual([kind for kind in told if kind != "step"], ["begin", "saved"])

    def test_a_save_that_is_due_while_one_is_written_is_none_when_the_supervisor_goes(self):
        supervisor = FakeSupervisor(every_steps=10)
        run = attach(supervisor)
        self.assertTrue(run.step(10))
        with self.assertLogs("holdfast", "WARNING"), run.save(10):
            supervisor.vanish()
            self.assertFalse(run.step(20))
            await_loss(run)

    def test_a_save_that_is_asked_for_while_a_step_looks_is_due_at_the_next(self):
        class Asked:
            every = None

            @property
            def is_agreeing(self):
                run._on_push({"type": "save", "why": "notice", "at": None})
                return False

        run = attach(FakeSupervisor())
        run._together = Asked()
        run._look_closer()
        self.assertFalse(run.step(1))
        self.assertTrue(run.step(2))

    def test_what_a_rank_waits_for_the_others_with_its_folder_in_hand_is_told_apart_from_writing(self):
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
        run._together = Slow()
        self.assertTrue(run.step(1))
        with run.save(1) as folder:
            (folder / "state").write_text("x")
        self.assertGreaterEqual(supervisor.expect("saved")["waitedMs"], 20)

    def test_a_rank_that_is_alone_has_waited_for_nobody(self):
        supervisor = FakeSupervisor(every_steps=1)
        run = attach(supervisor)
        self.assertTrue(run.step(1))
        with run.save(1):
            pass
        self.assertNotIn("waitedMs", supervisor.expect("saved"))

    def test_what_is_done_between_the_step_and_its_save_is_told_apart_from_writing_and_from_standing_still(self):
        supervisor = FakeSupervisor(every_steps=1)
        run = attach(supervisor)
        self.assertTrue(run.step(1))
        evaluate(0.02)
        with run.save(1):
            pass
        told = supervisor.expect("saved")
        self.assertGreaterEqual(told["betweenMs"], 20)
        self.assertNotIn("stallMs", told)

    def test_what_is_done_between_the_step_and_a_save_in_the_background_is_no_standing_still(self):
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

    def test_a_save_that_was_not_due_begins_with_its_folder(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        with run.save(1):
            pass
        self.assertNotIn("betweenMs", supervisor.expect("saved"))

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

    def test_who_finishes_in_the_middle_of_a_save_does_not_wait_for_itself(self):
        supervisor = FakeSupervisor(every_steps=10)
        run = attach(supervisor)
        with run.save(10):
            run.finish()
        self.assertEqual([supervisor.expect("finish")["type"], supervisor.expect("saved")["save"]], ["finish", "1"])

    def test_who_finishes_waits_for_what_is_written_in_the_background(self):
        supervisor = FakeSupervisor(every_steps=10)
        run = attach(supervisor)
        block = run.save(10)
        block.__enter__()
        block.in_background()
        writer = threading.Timer(0.05, block.__exit__, (None, None, None))
        writer.start()
        self.addCleanup(writer.join)
        run.finish()
        said = iter(lambda: supervisor.heard.get(timeout=10)["type"], "finish")
        self.assertIn("saved", list(said))

    def test_who_attaches_as_another_rank_is_that_one_alone(self):
        supervisor = FakeSupervisor()
        first = attach(supervisor)
        with self.assertLogs("holdfast", "WARNING"):
            second = holdfast.attach(supervisor.env(RANK="1", WORLD_SIZE="2"))
        self.assertEqual([first.is_attached, second.is_attached], [False, True])
        supervisor.expect("closed")
        self.assertEqual(supervisor.expect("hello")["rank"], 1)

    def test_busy_is_told_at_both_ends(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        with run.busy("evaluation"):
            self.assertEqual(supervisor.expect("busy")["what"], "evaluation")
        self.assertIsNone(supervisor.expect("busy")["what"])

    def test_busy_lasts_until_the_outermost_block_is_left(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        with run.busy("epoch"):
            with run.busy("evaluation"):
                pass
        self.assertEqual([supervisor.expect("busy")["what"] for _ in range(4)], ["epoch", "evaluation", "epoch", None])

    def test_steps_that_were_made_before_are_told_before_it_is_busy(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        for step in range(3):
            run.step(step)
        with run.busy(), run.save(2):
            pass
        told = list(iter(lambda: supervisor.heard.get(timeout=10)["type"], "saved"))
        self.assertEqual(told[told.index("busy") :], ["busy", "begin"])

    def test_what_is_sealed_is_known(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        self.assertIsNone(run.last_sealed)
        hear(run, supervisor)
        self.assertEqual(run.last_sealed, 1_000_000)


if __name__ == "__main__":
    unittest.main()
