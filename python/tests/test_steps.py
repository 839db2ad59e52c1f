import unittest
from time import monotonic

from fake_supervisor import FakeSupervisor, attach, hear


class Steps(unittest.TestCase):
    def test_progress_is_coalesced_and_the_last_step_is_reported_at_the_end(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        began = monotonic()
        for step in range(1000):
            run.step(step, loss=1.0, text="no number", bad=float("nan"))
        run.finish()
        passed = monotonic() - began
        told = []
        while True:
            message = supervisor.heard.get(timeout=60)
            if message["type"] == "finish":
                break
            told.append(message)
        self.assertEqual(told[0], {"type": "step", "step": 0, "metrics": {"loss": 1.0}})
        self.assertEqual(told[-1]["step"], 999)
        # The first, the last, and at most one every half second.
        self.assertLessEqual(len(told), 3 + 2 * passed)

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

    def test_a_save_at_a_named_step_is_due_only_there(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        supervisor.say({"type": "save", "why": "notice", "at": 5000})
        hear(run, supervisor)
        self.assertEqual(next(step for step in range(6000) if run.step(step)), 5000)

    def test_a_named_step_that_has_passed_is_reported(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        supervisor.say({"type": "save", "why": "notice", "at": 3})
        hear(run, supervisor)
        self.assertFalse(run.step(10))
        self.assertEqual(supervisor.expect("late"), {"type": "late", "at": 3, "step": 10})

    def test_a_named_step_that_has_passed_is_reported_even_between_steps(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        self.assertFalse(run.step(10))
        supervisor.say({"type": "save", "why": "notice", "at": 10})
        self.assertEqual(supervisor.expect("late"), {"type": "late", "at": 10, "step": 10})

    def test_a_step_that_passes_at_the_moment_of_the_request_is_reported_too(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        self.assertFalse(run.step(9))
        supervisor.say({"type": "save", "why": "notice", "at": 10})
        hear(run, supervisor)
        # As if the step had checked for a request just before the request came.
        run._passed = 10
        self.assertEqual(supervisor.expect("late"), {"type": "late", "at": 10, "step": 10})

    def test_steps_that_were_not_reported_at_once_are_reported_before_the_end(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        for step in range(1, 50):
            self.assertFalse(run.step(step))
        run.finish()
        told = [supervisor.expect("step")["step"]]
        while told[-1] < 49:
            told.append(supervisor.expect("step")["step"])
        self.assertEqual((told[0], told[-1]), (1, 49))

    def test_a_step_is_reported_as_it_was_even_if_its_number_object_changes_later(self):
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

    def test_a_save_that_is_no_longer_wanted_is_not_due(self):
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

    def test_a_save_that_is_asked_for_while_a_step_looks_is_due_at_the_next(self):
        class Asked:
            every = None

            @property
            def is_agreeing(self):
                run._on_push({"type": "save", "why": "notice", "at": None})
                return False

        run = attach(FakeSupervisor())
        run._due_save._together = Asked()
        run._look_closer()
        self.assertFalse(run.step(1))
        self.assertTrue(run.step(2))

    def test_busy_is_reported_at_its_start_and_its_end(self):
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

    def test_earlier_steps_are_reported_before_busy(self):
        supervisor = FakeSupervisor()
        run = attach(supervisor)
        for step in range(3):
            run.step(step)
        with run.busy(), run.save(2):
            pass
        told = list(iter(lambda: supervisor.heard.get(timeout=60)["type"], "saved"))
        self.assertEqual(told[told.index("busy") :], ["busy", "begin"])
