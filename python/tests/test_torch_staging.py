import os
import shutil
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

from fake_supervisor import FakeSupervisor, attach

try:
    import torch

    import holdfast.torch
    from holdfast import _kept_file
    from holdfast._torch_image import Layout, pickled
    from slow_device import SlowDevice
except ImportError as error:
    raise unittest.SkipTest(f"torch is not installed here: {error}") from None


class Training:
    """A model with running statistics, its optimizer, and a supervisor that keeps what is handed over until it is told to let it go."""

    def __init__(self, test, device, reserved="the folder beside the saves", width=300):
        torch.manual_seed(7)
        self.supervisor = FakeSupervisor()
        hello = self.supervisor.answers["hello"]
        self.supervisor.answers["hello"] = lambda message: {**hello(message), "reserves": True}
        self.supervisor.answers["reserve"] = lambda _: {"type": "reserved", "path": self.reserved, "reason": "there is no room"}
        self.reserved = os.path.join(self.supervisor.folder, "kept") if reserved == "the folder beside the saves" else reserved
        if self.reserved is not None:
            os.makedirs(self.reserved, exist_ok=True)
        self.device = device
        self.run = attach(self.supervisor)
        patch = mock.patch("holdfast.torch.device_of", return_value=device)
        patch.start()
        test.addCleanup(patch.stop)
        self.model = torch.nn.Sequential(torch.nn.Linear(width, 64), torch.nn.BatchNorm1d(64), torch.nn.Linear(64, 3))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.1)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 3, 0.5)
        self.state = holdfast.torch.State(model=self.model, optimizer=self.optimizer, scheduler=self.scheduler)
        self.train()
        # Everything that is got ready after the first step is ready.
        if self.state._staging is not None:
            self.state._staging.wait()

    def backward(self):
        self.model.train()(torch.randn(8, self.model[0].in_features)).square().sum().backward()

    def train(self):
        self.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.scheduler.step()

    def now(self):
        return {name: _copy(part.state_dict()) for name, part in self.state._parts.items()}

    def handed_over(self):
        """The folder of the next save that is handed over."""
        save = self.supervisor.expect("saved")["save"]
        return Path(self.supervisor.folder) / f"save-{save}"


def _copy(value):
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: _copy(one) for key, one in value.items()}
    return [_copy(one) for one in value] if isinstance(value, (list, tuple)) else value


def differences(one, other, name="state"):
    """Where two states are not the same."""
    if isinstance(one, torch.Tensor):
        return [] if torch.equal(one, other) and one.dtype == other.dtype else [name]
    if isinstance(one, dict):
        assert list(one) == list(other), (list(one), list(other))
        return [found for key in one for found in differences(one[key], other[key], f"{name}[{key!r}]")]
    if isinstance(one, (list, tuple)):
        return [found for number, (a, b) in enumerate(zip(one, other)) for found in differences(a, b, f"{name}[{number}]")]
    return [] if one == other else [name]


class Staged(unittest.TestCase):
    def saved(self, folder):
        return torch.load(folder / "state.pt", weights_only=True)

    def same(self, training, expected):
        folder = training.handed_over()
        self.assertEqual(differences(expected, self.saved(folder)), [])
        self.assertTrue((folder / "rank-0.pt").exists())
        return folder


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
        expected = {name: _copy(part.state_dict()) for name, part in state._parts.items()}
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

    def test_nobody_waits_for_a_save_that_could_not_begin(self):
        training = Training(self, SlowDevice(room=4096))
        with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
            with self.assertRaisesRegex(RuntimeError, "new thread"):
                training.state.async_save(training.run, 1)
        self.assertIn("new thread", training.supervisor.expect("failed")["reason"])
        training.train()
        training.run.finish()


class TheMemory(Staged):
    def test_a_save_that_stays_where_it_is_written_gets_a_copy_that_others_may_read(self):
        training = Training(self, SlowDevice())
        give = training.supervisor.answers["begin"]
        training.supervisor.answers["begin"] = lambda message: {**give(message), "mark": None}
        expected = training.now()
        training.state.async_save(training.run, 1)
        written = (self.same(training, expected) / "state.pt").stat()
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual([written.st_nlink, written.st_mode & 0o777], [1, 0o666 & ~mask])

    def test_the_supervisor_is_told_when_saves_are_made_of_it(self):
        training = Training(self, SlowDevice())
        for step in range(2):
            training.state.async_save(training.run, step)
            training.state.wait()
            shutil.rmtree(training.supervisor.folder + f"/save-{step + 1}")
        self.assertEqual([training.supervisor.expect("begin")["linked"] for _ in range(2)], [True, True])

    def test_a_save_that_went_to_the_disk_says_nothing_about_the_next(self):
        training = Training(self, SlowDevice())
        give = training.supervisor.answers["begin"]
        training.supervisor.answers["begin"] = lambda message: {**give(message), "mark": None}
        for step in range(2):
            training.state.async_save(training.run, step)
            training.state.wait()
        self.assertEqual([training.supervisor.expect("begin")["linked"] for _ in range(2)], [True, True])

    def test_a_save_that_could_not_be_made_of_it_is_told_to_the_next(self):
        training = Training(self, SlowDevice())
        for step in range(3):
            training.state.async_save(training.run, step)
            training.state.wait()
        self.assertEqual([training.supervisor.expect("begin")["linked"] for _ in range(3)], [True, True, False])
        # The next ones find no room in memory and go to the disk, through the file once it is free again.
        shutil.rmtree(training.supervisor.folder + "/save-1")
        give = training.supervisor.answers["begin"]
        training.supervisor.answers["begin"] = lambda message: {**give(message), "mark": None}
        for step in range(3, 5):
            training.state.async_save(training.run, step)
            training.state.wait()
        self.assertEqual([training.supervisor.expect("begin")["linked"] for _ in range(2)], [False, True])

    def test_it_is_given_back_by_whoever_writes_the_files_of_a_save_themselves(self):
        training = Training(self, SlowDevice())
        for step in range(2):
            with training.run.save(step) as folder:
                training.state.save(folder)
            training.train()
        self.assertEqual([training.supervisor.expect("reserve")["bytes"] > 0, training.supervisor.expect("reserve")["bytes"]], [True, 0])
        self.assertIsNone(training.state._staging)

    def test_a_second_state_leaves_it_to_the_first(self):
        training = Training(self, SlowDevice())
        with self.assertLogs("holdfast", "WARNING") as told:
            other = holdfast.torch.State(model=training.model, optimizer=training.optimizer)
            training.train()
        self.assertIn("another state of this process", told.output[0])
        for state in (other, training.state):
            expected = {name: _copy(part.state_dict()) for name, part in state._parts.items()}
            state.async_save(training.run, 1)
            state.wait()
            self.assertEqual((self.same(training, expected) / "state.pt").stat().st_nlink, 1 if state is other else 2)

    def test_a_state_that_moves_to_another_device_gives_it_back_and_is_written_as_ever(self):
        training = Training(self, SlowDevice())
        with mock.patch.object(holdfast._torch_staging, "kept_in", side_effect=holdfast._torch_image.Unsuited("it has moved")):
            with self.assertLogs("holdfast", "WARNING"):
                training.state.async_save(training.run, 1)
        self.assertEqual([training.supervisor.expect("reserve")["bytes"] > 0, training.supervisor.expect("reserve")["bytes"]], [True, 0])
        self.assertEqual(training.device.locked_ranges, {})

    def test_an_optimizer_that_only_looks_like_one_is_as_good_as_none(self):
        class Wrapper(torch.optim.Optimizer):
            def __init__(self, inner):
                self.inner = inner

            def state_dict(self):
                return self.inner.state_dict()

        training = Training(self, SlowDevice(room=0))
        training.state._stop_staging()
        state = holdfast.torch.State(model=training.model, optimizer=Wrapper(training.optimizer))
        state.async_save(training.run, 1)
        state.wait()
        training.handed_over()


class WithoutTheFile(Staged):
    def test_no_memory_to_be_had_is_told_once_and_the_save_takes_a_slower_way(self):
        with self.assertLogs("holdfast", "WARNING") as logged:
            training = Training(self, SlowDevice(), reserved=None)
            for step in range(2):
                training.device.pause()
                expected = training.now()
                training.state.async_save(training.run, step)
                training.train()
                training.device.resume()
                self.same(training, expected)
        self.assertEqual(["there is no room" in line for line in logged.output], [True])

    def test_memory_that_may_not_be_locked_is_told_once_and_given_back(self):
        with mock.patch.object(_kept_file, "PIECE_BYTES", 4096), self.assertLogs("holdfast", "WARNING") as logged:
            training = Training(self, SlowDevice(locks=10_000))
            for step in range(2):
                expected = training.now()
                training.state.async_save(training.run, step)
                training.train()
                self.same(training, expected)
        self.assertEqual(len(logged.output), 1)
        self.assertIn("could not be locked", logged.output[0])
        self.assertEqual((training.device.locked_ranges, os.listdir(training.reserved)), ({}, []))

    def test_larger_tensors_than_the_buffer_come_in_pieces(self):
        with mock.patch("holdfast._torch_taken._BUFFER_BYTES", 1000), self.assertLogs("holdfast", "WARNING"):
            training = Training(self, SlowDevice(), reserved=None)
            expected = training.now()
            training.state.async_save(training.run, 1)
            self.same(training, expected)

    def test_without_any_room_the_state_is_written_before_training_goes_on(self):
        with self.assertLogs("holdfast", "WARNING") as logged:
            training = Training(self, SlowDevice(room=0), reserved=None)
            for step in range(2):
                expected = training.now()
                training.state.async_save(training.run, step)
                self.assertIsNone(training.state._saving)
                training.train()
                self.same(training, expected)
        self.assertEqual(len(logged.output), 2)
        self.assertIn("training waits", logged.output[1])

    def test_a_state_on_the_host_is_handed_over_as_ever(self):
        training = Training(self, None)
        expected = training.now()
        training.state.async_save(training.run, 1)
        self.assertIsNone(training.state._saving)
        self.same(training, expected)

    def test_what_cannot_be_laid_out_is_written_by_torch_itself(self):
        training = Training(self, SlowDevice())
        odd = {"sparse": torch.eye(3).to_sparse()}
        training.state._parts["odd"] = mock.Mock(state_dict=lambda: odd)
        with self.assertLogs("holdfast", "WARNING") as logged:
            training.state.async_save(training.run, 1)
        self.assertIn("sparse", logged.output[0])
        self.assertTrue(torch.equal(self.saved(training.handed_over())["odd"]["sparse"].to_dense(), torch.eye(3)))


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

    def test_a_mistake_of_ours_costs_time_alone(self):
        training = Training(self, SlowDevice())
        with mock.patch.object(training.device, "take", side_effect=ValueError("a defect")), self.assertLogs("holdfast", "ERROR"):
            expected = training.now()
            training.state.async_save(training.run, 1)
        self.same(training, expected)


class TheFile(unittest.TestCase):
    def test_it_may_be_larger_than_four_gigabytes(self):
        with tempfile.TemporaryDirectory(prefix="holdfast-sdk-") as folder:
            layout = Layout([5 << 30, 12, 5 << 30, 8])
            path = os.path.join(folder, "state.pt")
            values = [torch.arange(3.0), torch.arange(8, dtype=torch.uint8)]
            with open(path, "wb") as file:
                for at, header in layout.headers:
                    file.seek(at)
                    file.write(header)
                for number, value in zip((1, 3), values):
                    file.seek(layout.offsets[number])
                    file.write(bytes(value.untyped_storage().tolist()))
                file.seek(layout.end)
                numbers = {value.untyped_storage()._cdata: number for value, number in zip(values, (1, 3))}
                file.write(layout.tail(pickled({"a": values[0], "b": values[1]}, numbers)))
            loaded = torch.load(path, weights_only=True, mmap=True)
            self.assertEqual([loaded["a"].tolist(), loaded["b"].tolist()], [value.tolist() for value in values])

    def test_every_tensor_lies_where_devices_like_it(self):
        layout = Layout([1, 0, 4097, 512, 3])
        self.assertEqual([offset % 512 for offset in layout.offsets], [0] * 5)
        self.assertEqual(layout.end % 4096, 0)


if __name__ == "__main__":
    unittest.main()
