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
    """The folder is requested while the bytes are under way."""

    def setUp(self):
        self.may_answer = threading.Event()
        self.addCleanup(self.may_answer.set)

    def training(self, room):
        """Its supervisor grants no folder until the test allows it."""
        training = Training(self, SlowDevice(room=room))
        give = training.supervisor.answers["begin"]

        def answer(message):
            self.assertTrue(self.may_answer.wait(60))
            return give(message)

        training.supervisor.answers["begin"] = answer
        return training

    def test_training_continues_during_a_background_save(self):
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

    def test_the_first_part_is_copied_before_the_next_is_examined(self):
        training = Training(self, SlowDevice())
        seen = []
        copy_now = training.device.copy_now
        training.device.copy_now = lambda copies: (copy_now(copies), seen.append("copied"))
        inner = training.optimizer.state_dict
        with mock.patch.object(training.optimizer, "state_dict", lambda: (seen.append("looked at"), inner())[1]):
            training.state.async_save(training.run, 1)
        self.assertEqual(seen[:2], ["copied", "looked at"])

    def test_a_refused_folder_costs_only_the_save(self):
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

    def test_without_room_training_waits_while_the_previous_save_has_the_memory(self):
        training = Training(self, SlowDevice(room=4096))
        give = training.supervisor.answers["begin"]
        training.state.async_save(training.run, 1)
        before = training.handed_over()
        # As the supervisor does it: it grants the next folder when the previous save is sealed and
        # gone.
        training.supervisor.answers["begin"] = lambda message: (shutil.rmtree(before), give(message))[1]
        training.train()
        expected = training.now()
        training.device.pause()
        training.state.async_save(training.run, 2)
        training.device.resume()
        training.train()
        self.assertEqual((self.same(training, expected) / "state.pt").stat().st_nlink, 2)

    def test_a_due_background_save_that_does_not_follow_is_reported(self):
        training = Training(self, SlowDevice())
        training.run._on_push({"type": "save", "at": None})
        self.assertTrue(training.run.step(1))
        self.assertTrue(training.run.step(1))
        self.assertFalse(training.run.step(2))
        self.assertEqual(training.supervisor.expect("begin")["step"], 1)
        self.assertIn("the save that was granted for step 1", training.supervisor.expect("failed")["reason"])
        expected = training.now()
        training.state.async_save(training.run, 3)
        self.same(training, expected)

    def test_a_save_of_another_step_is_kept_and_the_due_one_is_reported_as_failed(self):
        training = Training(self, SlowDevice())
        training.run._on_push({"type": "save", "at": None})
        self.assertTrue(training.run.step(1))
        expected = training.now()
        training.state.async_save(training.run, 2)
        self.assertEqual([training.supervisor.expect("begin")["step"], training.supervisor.expect("failed")["save"]], [1, "1"])
        self.same(training, expected)


class InTheBackground(Staged):
    def test_the_supervisor_learns_how_long_training_stalled(self):
        training = Training(self, SlowDevice())
        training.device.pause()
        began = time.monotonic()
        training.state.async_save(training.run, 1)
        stood = (time.monotonic() - began) * 1000
        training.device.resume()
        told = training.supervisor.expect("saved")["stallMs"]
        self.assertTrue(0 <= told <= stood + 1, (told, stood))

    def test_the_next_save_waits_for_the_previous_one(self):
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

    def test_an_error_in_the_background_costs_the_save_and_is_reported(self):
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

    def test_a_dead_supervisor_costs_only_the_save(self):
        training = Training(self, SlowDevice())
        training.device.pause()
        training.state.async_save(training.run, 1)
        training.supervisor.vanish()
        training.device.resume()
        training.state.wait()
        training.train()
        with self.assertLogs("holdfast", "WARNING"):
            training.state.async_save(training.run, 2)

    def test_a_state_that_a_resume_would_refuse_raises_in_the_trainer(self):
        training = Training(self, SlowDevice())
        state = holdfast.torch.State(odd=mock.Mock(state_dict=lambda: {"what": object()}))
        with mock.patch.object(holdfast.torch.log, "exception") as told, self.assertRaisesRegex(TypeError, "odd"):
            state.async_save(training.run, 1)
        self.assertFalse(told.called)

    def test_a_defect_of_holdfast_costs_only_time(self):
        training = Training(self, SlowDevice())
        with mock.patch.object(training.device, "take", side_effect=ValueError("a defect")), self.assertLogs("holdfast", "ERROR"):
            expected = training.now()
            training.state.async_save(training.run, 1)
        self.same(training, expected)


if __name__ == "__main__":
    unittest.main()
