import os
import shutil
import tempfile
import threading
import unittest
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
    def test_training_continues_at_once_and_the_save_equals_the_state_at_its_step(self):
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

    def test_the_file_is_reused_once_no_save_has_it(self):
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

    def test_a_file_that_a_save_still_has_is_left_alone(self):
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

    def test_numbers_whose_pickle_grows_change_no_tensor(self):
        training = Training(self, SlowDevice())
        for step, epoch in enumerate((1, 300, 70_000, 1 << 40, 2)):
            training.scheduler.last_epoch = epoch
            expected = training.now()
            training.state.async_save(training.run, step)
            shutil.rmtree(self.same(training, expected))

    def test_a_save_that_goes_to_another_file_system_gets_a_copy(self):
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

    def test_a_tensor_with_two_names_is_shared_again_after_a_load(self):
        training = Training(self, SlowDevice())
        flat = torch.arange(100.0)
        whole = {"all": flat, "part": flat[10:20], "turned": flat.view(10, 10).t()}
        training.state._parts["tied"] = mock.Mock(state_dict=lambda: whole)
        training.state.async_save(training.run, 1)
        saved = self.saved(training.handed_over())["tied"]
        self.assertEqual(differences(whole, saved), [])
        self.assertEqual(saved["all"].untyped_storage().data_ptr(), saved["part"].untyped_storage().data_ptr())


class BesideTheTraining(Staged):
    """A device without room for a copy."""

    def step_while_it_copies(self, training):
        training.device.pause()
        expected = training.now()
        training.state.async_save(training.run, 1)
        training.backward()
        stepping = threading.Thread(target=training.optimizer.step)
        stepping.start()
        return expected, stepping

    def test_the_optimizer_waits_for_the_tensors_it_is_about_to_write(self):
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

    def test_tensors_that_the_forward_changes_are_copied_before_it(self):
        for room in (4096, 0):
            training = Training(self, SlowDevice(room=room))
            expected = training.now()
            training.state.async_save(training.run, 1)
            training.backward()
            self.same(training, expected)

    def test_each_optimizer_waits_only_for_its_own_tensors(self):
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
        # The tensors that no optimizer writes were copied on the device. The copy of the first
        # optimizer's tensors is the first to leave it.
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

    def test_a_change_without_a_wait_is_detected(self):
        training = Training(self, SlowDevice(room=4096))
        training.device.pause()
        training.state.async_save(training.run, 1)
        with torch.no_grad():
            training.model[0].weight.mul_(2)
        with self.assertLogs("holdfast", "ERROR"):
            training.device.resume()
            training.state.wait()
        self.assertIn("changed in place", training.supervisor.expect("failed")["reason"])
        # One torn save is enough: the next one no longer relies on this optimizer.
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

    def test_an_optimizer_that_called_no_hook_since_the_last_save_is_not_relied_on(self):
        training = Training(self, SlowDevice(room=0))
        training.state.async_save(training.run, 1)
        training.state.wait()
        shutil.rmtree(training.handed_over())
        self.not_relied_on(training)

    def test_a_save_without_a_free_thread_is_delivered_before_training_continues(self):
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


if __name__ == "__main__":
    unittest.main()
