import itertools
import os
import shutil
import tempfile
import unittest
from unittest import mock

try:
    import torch

    import holdfast.torch
    from holdfast import _kept_file
    from holdfast._device import copy_all
    from holdfast._torch_image import Layout, pickled
    from holdfast._torch_walk import padded
    from slow_device import SlowDevice
    from staged_training import Staged, Training, copy_of
except ImportError as error:
    raise unittest.SkipTest(f"torch is not installed here: {error}") from None


class TheMemory(Staged):
    def test_a_save_that_stays_in_place_gets_a_copy_that_others_may_read(self):
        training = Training(self, SlowDevice())
        give = training.supervisor.answers["begin"]
        training.supervisor.answers["begin"] = lambda message: {**give(message), "mark": None}
        expected = training.now()
        training.state.async_save(training.run, 1)
        written = (self.same(training, expected) / "state.pt").stat()
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual([written.st_nlink, written.st_mode & 0o777], [1, 0o666 & ~mask])

    def test_the_supervisor_learns_when_saves_use_the_kept_memory(self):
        training = Training(self, SlowDevice())
        for step in range(2):
            training.state.async_save(training.run, step)
            training.state.wait()
            shutil.rmtree(training.supervisor.folder + f"/save-{step + 1}")
        self.assertEqual([training.supervisor.expect("begin")["linked"] for _ in range(2)], [True, True])

    def test_a_save_that_went_to_the_disk_does_not_decide_for_the_next_one(self):
        training = Training(self, SlowDevice())
        give = training.supervisor.answers["begin"]
        training.supervisor.answers["begin"] = lambda message: {**give(message), "mark": None}
        for step in range(2):
            training.state.async_save(training.run, step)
            training.state.wait()
        self.assertEqual([training.supervisor.expect("begin")["linked"] for _ in range(2)], [True, True])

    def test_a_save_that_could_not_use_the_kept_memory_changes_the_next_request(self):
        training = Training(self, SlowDevice())
        for step in range(3):
            training.state.async_save(training.run, step)
            training.state.wait()
        self.assertEqual([training.supervisor.expect("begin")["linked"] for _ in range(3)], [True, True, False])
        # The next saves find no room in memory and go to the disk. They use the file once it is
        # free again.
        shutil.rmtree(training.supervisor.folder + "/save-1")
        give = training.supervisor.answers["begin"]
        training.supervisor.answers["begin"] = lambda message: {**give(message), "mark": None}
        for step in range(3, 5):
            training.state.async_save(training.run, step)
            training.state.wait()
        self.assertEqual([training.supervisor.expect("begin")["linked"] for _ in range(2)], [False, True])

    def test_the_kept_memory_is_given_back_when_the_trainer_writes_saves_itself(self):
        training = Training(self, SlowDevice())
        for step in range(2):
            with training.run.save(step) as folder:
                training.state.save(folder)
            training.train()
        self.assertEqual([training.supervisor.expect("reserve")["bytes"] > 0, training.supervisor.expect("reserve")["bytes"]], [True, 0])
        self.assertIsNone(training.state._staging)

    def test_a_second_state_leaves_the_kept_memory_to_the_first(self):
        training = Training(self, SlowDevice())
        with self.assertLogs("holdfast", "WARNING") as told:
            other = holdfast.torch.State(model=training.model, optimizer=training.optimizer)
            training.train()
        self.assertIn("another state of this process", told.output[0])
        for state in (other, training.state):
            expected = {name: copy_of(part.state_dict()) for name, part in state._parts.items()}
            state.async_save(training.run, 1)
            state.wait()
            self.assertEqual((self.same(training, expected) / "state.pt").stat().st_nlink, 1 if state is other else 2)

    def test_a_state_that_moves_to_another_device_gives_the_memory_back_and_is_written_directly(self):
        training = Training(self, SlowDevice())
        with mock.patch.object(holdfast._torch_walk, "meet", side_effect=holdfast._torch_image.Unsuited("it has moved")):
            with self.assertLogs("holdfast", "WARNING"):
                training.state.async_save(training.run, 1)
        self.assertEqual([training.supervisor.expect("reserve")["bytes"] > 0, training.supervisor.expect("reserve")["bytes"]], [True, 0])
        self.assertEqual(training.device.locked_ranges, {})

    def test_an_object_that_only_looks_like_an_optimizer_is_ignored(self):
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
    def test_missing_memory_is_reported_once_and_the_save_takes_a_slower_way(self):
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

    def test_memory_that_may_not_be_locked_is_reported_once_and_given_back(self):
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

    def test_tensors_larger_than_the_buffer_are_copied_in_pieces(self):
        with mock.patch("holdfast._torch_taken._BUFFER_BYTES", 1000), self.assertLogs("holdfast", "WARNING"):
            training = Training(self, SlowDevice(), reserved=None)
            expected = training.now()
            training.state.async_save(training.run, 1)
            self.same(training, expected)

    def test_without_any_room_the_state_is_written_before_training_continues(self):
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

    def test_a_state_on_the_host_is_written_directly(self):
        training = Training(self, None)
        expected = training.now()
        training.state.async_save(training.run, 1)
        self.assertIsNone(training.state._saving)
        self.same(training, expected)

    def test_a_state_that_cannot_be_laid_out_is_written_by_torch_itself(self):
        training = Training(self, SlowDevice())
        odd = {"sparse": torch.eye(3).to_sparse()}
        training.state._parts["odd"] = mock.Mock(state_dict=lambda: odd)
        with self.assertLogs("holdfast", "WARNING") as logged:
            training.state.async_save(training.run, 1)
        self.assertIn("sparse", logged.output[0])
        self.assertTrue(torch.equal(self.saved(training.handed_over())["odd"]["sparse"].to_dense(), torch.eye(3)))


class ManyCopies(unittest.TestCase):
    def test_bytes_of_any_number_arrive(self):
        sizes = [4, 1, 4096, 0, 3, 1 << 20, 7, 8]
        sources = [torch.randint(0, 255, (size + 1,), dtype=torch.uint8)[size % 2 :][:size] for size in sizes]
        memory = torch.zeros(sum(padded(size) for size in sizes), dtype=torch.uint8)
        places = [memory[start : start + size] for start, size in zip(itertools.accumulate([0, *map(padded, sizes)]), sizes)]
        copy_all(list(zip(places, sources)))
        self.assertEqual(sum(torch.equal(*both) for both in zip(places, sources)), len(sizes))

    def test_a_torch_without_grouped_copies_copies_one_by_one(self):
        with mock.patch.object(torch, "_foreach_copy_", None):
            self.test_bytes_of_any_number_arrive()


class TheFile(unittest.TestCase):
    def test_a_file_may_be_larger_than_four_gigabytes(self):
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

    def test_every_tensor_is_aligned_as_devices_need_it(self):
        layout = Layout([1, 0, 4097, 512, 3])
        self.assertEqual([offset % 512 for offset in layout.offsets], [0] * 5)
        self.assertEqual(layout.end % 4096, 0)


if __name__ == "__main__":
    unittest.main()
