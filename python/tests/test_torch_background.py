import shutil
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

try:
    import holdfast.torch
    from slow_device import SlowDevice
    from staged_training import Staged, Training
except ImportError as error:
    raise unittest.SkipTest(f"torch is not installed here: {error}") from None


class BeforeThereIsAFolder(Staged):
    """The supervisor is asked for it when the bytes are on their way."""

    def setUp(self):
        self.may_answer = threading.Event()
        self.addCleanup(self.may_answer.set)

    def training(self, room):
        """Its supervisor gives no folder before it may."""
        training = Training(self, SlowDevice(room=room))
        give = training.supervisor.answers["begin"]

        def answer(message):
            self.assertTrue(self.may_answer.wait(60))
            return give(message)

        training.supervisor.answers["begin"] = answer
        return training

    def test_training_goes_on(self):
        for room in (1 << 40, 4096):
            self.may_answer.clear()
            training = self.training(room)
            expected = training.now()
            training.run._on_push({"type": "save", "at": None})
            self.assertTrue(training.run.step(1))
            training.state.async_save(training.run, 1)
            training.train()
            training.train()
            self.assertFalse(training.run.step(2))
            self.may_answer.set()
            self.assertEqual((self.same(training, expected) / "state.pt").stat().st_nlink, 2)

    def test_the_first_part_is_copied_before_the_next_is_looked_at(self):
        training = Training(self, SlowDevice())
        seen = []
        copy_now = training.device.copy_now
        training.device.copy_now = lambda copies: (copy_now(copies), seen.append("copied"))
        inner = training.optimizer.state_dict
        with mock.patch.object(training.optimizer, "state_dict", lambda: (seen.append("looked at"), inner())[1]):
            training.state.async_save(training.run, 1)
        self.assertEqual(seen[:2], ["copied", "looked at"])

    def test_none_at_all_costs_the_save_alone(self):
        for room in (1 << 40, 4096):
            training = Training(self, SlowDevice(room=room))
            give = training.supervisor.answers["begin"]
            training.supervisor.answers["begin"] = lambda message: {"type": "refused", "step": message["step"], "reason": "the disk is full"}
            with self.assertLogs("holdfast", "WARNING") as told:
                training.state.async_save(training.run, 1)
                training.train()
                training.state.wait()
            self.assertIn("no save at step 1: the disk is full", told.output[-1])
            training.supervisor.answers["begin"] = give
            expected = training.now()
            training.state.async_save(training.run, 2)
            training.train()
            self.assertEqual((self.same(training, expected) / "state.pt").stat().st_nlink, 2)
            training.run.finish()

    def test_without_room_training_waits_as_long_as_the_save_before_has_the_memory(self):
        training = Training(self, SlowDevice(room=4096))
        give = training.supervisor.answers["begin"]
        training.state.async_save(training.run, 1)
        before = training.handed_over()
        # As the supervisor does it: the next folder when the one before is sealed and gone.
        training.supervisor.answers["begin"] = lambda message: (shutil.rmtree(before), give(message))[1]
        training.train()
        expected = training.now()
        training.device.pause()
        training.state.async_save(training.run, 2)
        training.device.resume()
        training.train()
        self.assertEqual((self.same(training, expected) / "state.pt").stat().st_nlink, 2)

    def test_a_save_that_was_due_and_does_not_follow_is_told(self):
        training = Training(self, SlowDevice())
        training.run._on_push({"type": "save", "at": None})
        self.assertTrue(training.run.step(1))
        self.assertTrue(training.run.step(1))
        self.assertFalse(training.run.step(2))
        self.assertEqual(training.supervisor.expect("begin")["step"], 1)
        self.assertIn("no save followed at step 1", training.supervisor.expect("failed")["reason"])
        expected = training.now()
        training.state.async_save(training.run, 3)
        self.same(training, expected)

    def test_a_save_of_another_step_than_the_one_that_was_due_is_kept_and_the_other_told(self):
        training = Training(self, SlowDevice())
        training.run._on_push({"type": "save", "at": None})
        self.assertTrue(training.run.step(1))
        expected = training.now()
        training.state.async_save(training.run, 2)
        self.assertEqual([training.supervisor.expect("begin")["step"], training.supervisor.expect("failed")["save"]], [1, "1"])
        self.same(training, expected)


class InTheBackground(Staged):
    def test_the_supervisor_hears_how_long_training_stood_still(self):
        training = Training(self, SlowDevice())
        training.device.pause()
        began = time.monotonic()
        training.state.async_save(training.run, 1)
        stood = (time.monotonic() - began) * 1000
        training.device.resume()
        told = training.supervisor.expect("saved")["stallMs"]
        self.assertTrue(0 <= told <= stood + 1, (told, stood))

    def test_the_next_save_waits_for_the_one_before(self):
        training = Training(self, SlowDevice())
        training.device.pause()
        expected = training.now()
        training.state.async_save(training.run, 1)
        training.train()
        again = threading.Thread(target=training.state.async_save, args=(training.run, 2))
        again.start()
        again.join(0.05)
        self.assertTrue(again.is_alive())
        training.device.resume()
        self.same(training, expected)
        again.join(60)
        self.same(training, training.now())

    def test_the_end_of_the_run_waits_for_the_last_save(self):
        training = Training(self, SlowDevice())
        training.device.pause()
        training.state.async_save(training.run, 1)
        finishing = threading.Thread(target=training.run.finish)
        finishing.start()
        finishing.join(0.05)
        self.assertTrue(finishing.is_alive())
        training.device.resume()
        finishing.join(60)
        self.assertFalse(finishing.is_alive())
        training.supervisor.expect("saved")
        training.supervisor.expect("finish")

    def test_an_error_costs_the_save_and_is_told(self):
        training = Training(self, SlowDevice())
        training.device.pause()
        training.state.async_save(training.run, 1)
        training.supervisor.expect("begin")
        for save in Path(training.supervisor.folder).glob("save-*"):
            shutil.rmtree(save)
        with self.assertLogs("holdfast", "ERROR") as logged:
            training.device.resume()
            training.state.wait()
        self.assertIn("step 1 could not be saved", logged.output[0])
        training.supervisor.expect("failed")
        expected = training.now()
        training.state.async_save(training.run, 2)
        self.same(training, expected)

    def test_a_supervisor_that_is_gone_costs_nothing_but_the_save(self):
        training = Training(self, SlowDevice())
        training.device.pause()
        training.state.async_save(training.run, 1)
        training.supervisor.vanish()
        training.device.resume()
        training.state.wait()
        training.train()
        with self.assertLogs("holdfast", "WARNING"):
            training.state.async_save(training.run, 2)

    def test_what_a_resume_would_refuse_is_the_trainers_mistake(self):
        training = Training(self, SlowDevice())
        state = holdfast.torch.State(odd=mock.Mock(state_dict=lambda: {"what": object()}))
        with mock.patch.object(holdfast.torch.log, "exception") as told, self.assertRaisesRegex(TypeError, "odd"):
            state.async_save(training.run, 1)
        self.assertFalse(told.called)

    def test_a_mistake_of_ours_costs_time_alone(self):
        training = Training(self, SlowDevice())
        with mock.patch.object(training.device, "take", side_effect=ValueError("a defect")), self.assertLogs("holdfast", "ERROR"):
            expected = training.now()
            training.state.async_save(training.run, 1)
        self.same(training, expected)


if __name__ == "__main__":
    unittest.main()
