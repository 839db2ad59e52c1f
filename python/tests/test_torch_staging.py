import os
import shutil
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

try:
    import torch

    import holdfast.torch
    from holdfast import _kept_file
    from slow_device import SlowDevice
    from staged_training import Staged, Training, copy_of, differences
except ImportError as error:
    raise unittest.SkipTest(f"torch is not installed here: {error}") from None


class ACopyOnTheDevice(Staged):
    def test_training_goes_on_at_once_and_the_save_is_what_was_there(self):
        training = Training(self, SlowDevice())
        for step in range(4):
            training.device.pause()
            expected = training.now()
            training.state.async_save(training.run, step)
            training.train()
            training.train()
            self.assertNotIn("saved", [message["type"] for message in list(training.supervisor.heard.queue)])
            training.device.resume()
            shutil.rmtree(self.same(training, expected))
            self.assertEqual(training.device.was_held, [])

    def test_the_file_is_written_again_once_nobody_has_it_any_more(self):
        training = Training(self, SlowDevice())
        files = []
        for step in range(3):
            expected = training.now()
            training.state.async_save(training.run, step)
            folder = self.same(training, expected)
            files.append((folder / "state.pt").stat().st_ino)
            shutil.rmtree(folder)
            training.train()
        self.assertEqual(len(set(files)), 1)

    def test_what_somebody_still_has_is_left_alone(self):
        training = Training(self, SlowDevice())
        kept = []
        for step in range(3):
            expected = training.now()
            training.state.async_save(training.run, step)
            kept.append((self.same(training, expected), expected))
            training.train()
        for folder, expected in kept:
            self.assertEqual(differences(expected, self.saved(folder)), [])
        self.assertEqual(len({(folder / "state.pt").stat().st_ino for folder, _ in kept}), 3)

    def test_pieces_of_locked_memory_are_filled_one_by_one(self):
        with mock.patch.object(_kept_file, "PIECE_BYTES", 4096):
            training = Training(self, SlowDevice())
            self.assertGreater(len(training.device.locked_ranges), 10)
            expected = training.now()
            training.state.async_save(training.run, 1)
            self.same(training, expected)

    def test_numbers_whose_pickle_grows_change_nothing_else(self):
        training = Training(self, SlowDevice())
        for step, epoch in enumerate((1, 300, 70_000, 1 << 40, 2)):
            training.scheduler.last_epoch = epoch
            expected = training.now()
            training.state.async_save(training.run, step)
            shutil.rmtree(self.same(training, expected))

    def test_a_save_that_goes_to_another_file_system_gets_acopy_of(self):
        if not os.path.isdir("/dev/shm"):
            self.skipTest("there is no /dev/shm")
        with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="holdfast-sdk-") as memory:
            training = Training(self, SlowDevice(), reserved=memory)
            for step in range(2):
                expected = training.now()
                training.state.async_save(training.run, step)
                folder = self.same(training, expected)
                self.assertNotEqual((folder / "state.pt").stat().st_dev, os.stat(memory).st_dev)
                training.train()

    def test_a_state_that_has_grown_gets_a_larger_file(self):
        training = Training(self, SlowDevice())
        training.model.add_module("more", torch.nn.Linear(3, 500))
        training.optimizer.add_param_group({"params": list(training.model.more.parameters())})
        for step in range(3):
            training.train()
            expected = training.now()
            training.state.async_save(training.run, step)
            self.same(training, expected)
            training.state._staging.wait()
        self.assertEqual(sum(training.device.locked_ranges.values()), training.state._staging._file.size)

    def test_a_state_that_has_shrunk_keeps_its_file(self):
        training = Training(self, SlowDevice())
        training.optimizer.state.pop(training.model[0].weight)
        expected = training.now()
        training.state.async_save(training.run, 1)
        self.same(training, expected)

    def test_what_two_names_share_is_shared_again(self):
        training = Training(self, SlowDevice())
        flat = torch.arange(100.0)
        whole = {"all": flat, "part": flat[10:20], "turned": flat.view(10, 10).t()}
        training.state._parts["tied"] = mock.Mock(state_dict=lambda: whole)
        training.state.async_save(training.run, 1)
        saved = self.saved(training.handed_over())["tied"]
        self.assertEqual(differences(whole, saved), [])
        self.assertEqual(saved["all"].untyped_storage().data_ptr(), saved["part"].untyped_storage().data_ptr())


class BesideTheTraining(Staged):
    """The device has no room for a copy."""

    def step_while_it_copies(self, training):
        training.device.pause()
        expected = training.now()
        training.state.async_save(training.run, 1)
        training.backward()
        stepping = threading.Thread(target=training.optimizer.step)
        stepping.start()
        return expected, stepping

    def test_the_optimizer_waits_for_what_it_is_about_to_write(self):
        training = Training(self, SlowDevice(room=4096))
        expected, stepping = self.step_while_it_copies(training)
        stepping.join(0.05)
        self.assertTrue(stepping.is_alive())
        training.device.resume()
        stepping.join(60)
        self.same(training, expected)
        self.assertEqual(len(training.device.was_held), 1)

    def test_without_waiting_the_save_would_be_torn(self):
        training = Training(self, SlowDevice(room=4096))
        training.device.hold = lambda event: None
        expected, stepping = self.step_while_it_copies(training)
        stepping.join(60)
        training.device.resume()
        self.assertIn("state['model']['0.weight']", differences(expected, self.saved(training.handed_over())))

    def test_what_the_forward_changes_is_copied_before_it(self):
        for room in (4096, 0):
            training = Training(self, SlowDevice(room=room))
            expected = training.now()
            training.state.async_save(training.run, 1)
            training.backward()
            self.same(training, expected)

    def test_each_optimizer_waits_for_its_own(self):
        training = Training(self, SlowDevice(room=4096))
        training.state._stop_staging()
        other = torch.nn.Linear(40, 40)
        second = torch.optim.SGD(other.parameters(), lr=0.1)
        other(torch.randn(2, 40)).sum().backward()
        state = holdfast.torch.State(second=second, other=other, model=training.model, optimizer=training.optimizer)
        second.step()
        state._staging.wait()
        training.train()
        expected = {name: copy_of(part.state_dict()) for name, part in state._parts.items()}
        training.device.pause()
        state.async_save(training.run, 1)
        # What no optimizer writes was copied on the device; the copy of the first optimizer's tensors is the first that leaves it.
        training.device.let(1)
        second.step()
        training.backward()
        stepping = threading.Thread(target=training.optimizer.step)
        stepping.start()
        stepping.join(0.05)
        self.assertTrue(stepping.is_alive())
        training.device.resume()
        stepping.join(60)
        self.same(training, expected)

    def test_a_change_that_nobody_waited_for_is_found_out(self):
        training = Training(self, SlowDevice(room=4096))
        training.device.pause()
        training.state.async_save(training.run, 1)
        with torch.no_grad():
            training.model[0].weight.mul_(2)
        with self.assertLogs("holdfast", "ERROR"):
            training.device.resume()
            training.state.wait()
        self.assertIn("changed in place", training.supervisor.expect("failed")["reason"])
        # Once is enough: the next one does not rely on it any more.
        training.train()
        expected = training.now()
        training.state.async_save(training.run, 2)
        with torch.no_grad():
            training.model[0].weight.mul_(2)
        self.same(training, expected)

    def test_a_step_that_may_be_replayed_from_a_graph_is_not_relied_on(self):
        training = Training(self, SlowDevice(room=0))
        training.optimizer.param_groups[0]["capturable"] = True
        self.not_relied_on(training)

    def not_relied_on(self, training):
        expected = training.now()
        training.state.async_save(training.run, 1)
        with torch.no_grad():
            training.model[0].weight.mul_(2)
        shutil.rmtree(self.same(training, expected))

    def test_a_step_that_was_captured_into_a_graph_is_not_relied_on(self):
        training = Training(self, SlowDevice(room=0))
        training.device.captures = True
        training.train()
        training.device.captures = False
        self.not_relied_on(training)

    def test_an_optimizer_that_has_not_asked_since_the_last_save_is_not_relied_on(self):
        training = Training(self, SlowDevice(room=0))
        training.state.async_save(training.run, 1)
        training.state.wait()
        shutil.rmtree(training.handed_over())
        self.not_relied_on(training)

    def test_a_save_that_no_thread_is_to_be_had_for_is_delivered_before_training_goes_on(self):
        for room in (1 << 40, 4096):
            training = Training(self, SlowDevice(room=room))
            expected = training.now()
            with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
                with self.assertLogs("holdfast", "WARNING") as told:
                    training.state.async_save(training.run, 1)
            self.assertIn("new thread", told.output[-1])
            shutil.rmtree(self.same(training, expected))
            training.train()
            expected = training.now()
            training.state.async_save(training.run, 2)
            self.same(training, expected)
            training.run.finish()


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
