"""Saves of a state on a real CUDA device, while training continues."""

import os
import shutil
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

from fake_supervisor import FakeSupervisor, attach

try:
    import torch

    import holdfast.torch
    from holdfast._device import Cuda
    from staged_training import copy_of, differences
except ImportError as error:
    raise unittest.SkipTest(f"torch is not installed here: {error}") from None

if not torch.cuda.is_available():
    raise unittest.SkipTest("there is no CUDA device here")
if not os.path.isdir("/dev/shm"):
    raise unittest.SkipTest("there is no /dev/shm")

WIDTH = 8192
"""A state of 2.4 GB, so wide that it needs many steps to leave the device."""


class OnCuda(unittest.TestCase):
    @staticmethod
    def optimizer_of(parameters):
        return torch.optim.AdamW(parameters, lr=1e-3)

    def setUp(self):
        torch.manual_seed(11)
        self.memory = tempfile.mkdtemp(dir="/dev/shm", prefix="holdfast-sdk-")
        self.addCleanup(shutil.rmtree, self.memory, True)
        self.supervisor = FakeSupervisor()
        self.supervisor.folder, before = self.memory, self.supervisor.folder
        self.addCleanup(shutil.rmtree, before, True)
        hello = self.supervisor.answers["hello"]
        self.supervisor.answers["hello"] = lambda message: {**hello(message), "reserves": True}
        self.supervisor.answers["reserve"] = lambda _: {"type": "reserved", "path": self.memory, "reason": None}
        self.run_ = attach(self.supervisor)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(WIDTH, WIDTH), torch.nn.BatchNorm1d(WIDTH), torch.nn.Dropout(0.1), torch.nn.Linear(WIDTH, WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        ).cuda()
        self.optimizer = self.optimizer_of(self.model.parameters())
        self.state = holdfast.torch.State(model=self.model, optimizer=self.optimizer)
        self.train()
        self.state._staging.wait()
        self.addCleanup(self.close)

    def close(self):
        self.state.wait()
        file = self.state._staging and self.state._staging._file
        if file:
            file.close()
        self.state = self.model = self.optimizer = None
        torch.cuda.empty_cache()

    def train(self, steps=1):
        for _ in range(steps):
            self.model(torch.randn(16, WIDTH, device="cuda")).square().mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()

    def without_room(self):
        """A device with room only for the tensors that no optimizer writes."""
        take = Cuda.take
        patch = mock.patch.object(Cuda, "take", lambda device, size: take(device, size) if size < 16 << 20 else None)
        patch.start()
        self.addCleanup(patch.stop)

    def now(self):
        return {name: copy_of(part.state_dict()) for name, part in self.state._parts.items()}

    def differences(self, expected):
        folder = Path(self.memory) / f"save-{self.supervisor.expect('saved')['save']}"
        saved = torch.load(folder / "state.pt", weights_only=True, map_location="cuda")
        found = differences(_on_cuda(expected), _on_cuda(saved))
        del saved
        shutil.rmtree(folder)
        return found

    def saves_while_it_trains(self, count=4, train=None):
        found = []
        for step in range(count):
            expected = self.now()
            self.state.async_save(self.run_, step)
            (train or self.train)(12)
            found.append(self.differences(expected))
            self.assertTrue(self.state._staging._file.is_free)
        return found


class WhileItTrains(OnCuda):
    def test_with_a_copy_on_the_device_every_save_equals_the_state_at_its_step(self):
        self.assertEqual(self.saves_while_it_trains(), [[]] * 4)

    def test_without_room_for_a_copy_every_save_equals_the_state_at_its_step(self):
        self.without_room()
        self.assertEqual(self.saves_while_it_trains(), [[]] * 4)

    def test_without_any_room_every_save_equals_the_state_at_its_step(self):
        with mock.patch.object(Cuda, "take", lambda device, size: None):
            self.assertEqual(self.saves_while_it_trains(), [[]] * 4)

    def test_without_waiting_saves_would_be_torn(self):
        self.without_room()
        with mock.patch.object(Cuda, "hold", lambda device, event: None):
            self.assertNotEqual(self.saves_while_it_trains(1), [[]])

    def test_without_locked_memory_every_save_equals_the_state_at_its_step(self):
        self.state.wait()
        self.state._staging._file.close()
        self.state._staging._file = None
        for step in range(2):
            expected = self.now()
            self.state.async_save(self.run_, step)
            self.train(12)
            self.assertEqual(self.differences(expected), [])

    def test_a_resumed_run_ends_like_its_uninterrupted_twin(self):
        self.without_room()
        torch.use_deterministic_algorithms(True)
        self.addCleanup(torch.use_deterministic_algorithms, False)
        self.train(3)
        self.state.async_save(self.run_, 3)
        self.train(4)
        twin = self.now()
        folder = Path(self.memory) / f"save-{self.supervisor.expect('saved')['save']}"
        self.state.load(folder)
        self.train(4)
        self.assertEqual(differences(_on_cuda(twin), _on_cuda(self.now())), [])


class WithGraphs(OnCuda):
    @staticmethod
    def optimizer_of(parameters):
        # A step that a graph captures without the optimizer's knowledge.
        return torch.optim.SGD(parameters, lr=1e-3, momentum=0.9)

    def captured(self):
        """A step that can be replayed."""
        inputs = torch.randn(16, WIDTH, device="cuda")

        def step():
            self.model(inputs).square().mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        return graph

    def test_replayed_steps_tear_no_save(self):
        self.without_room()
        graph = self.captured()
        self.assertEqual(self.saves_while_it_trains(3, lambda count: [graph.replay() for _ in range(count)]), [[]] * 3)

    def deliver_while_a_graph_is_captured(self):
        """Whether the graph can be replayed."""
        is_capturing = threading.Event()
        give = self.supervisor.answers["begin"]
        self.supervisor.answers["begin"] = lambda message: (is_capturing.wait(60), give(message))[1]
        numbers = torch.ones(1 << 20, device="cuda")
        graph = torch.cuda.CUDAGraph()
        self.state.async_save(self.run_, 1)
        with torch.cuda.graph(graph):
            twice = numbers * 2
            is_capturing.set()
            self.state.wait()
            more = twice + 1
        graph.replay()
        return torch.equal(more, torch.full_like(numbers, 3))

    def test_a_save_delivered_during_a_graph_capture_spoils_neither(self):
        expected = self.now()
        self.assertTrue(self.deliver_while_a_graph_is_captured())
        self.assertEqual(self.differences(expected), [])

    def test_a_save_without_locked_memory_spoils_no_graph_capture(self):
        self.state._staging._file.close()
        self.state._staging._file = None
        expected = self.now()
        self.assertTrue(self.deliver_while_a_graph_is_captured())
        self.assertEqual(self.differences(expected), [])

    def test_preparing_memory_spoils_no_graph_capture(self):
        self.assertEqual(self.saves_while_it_trains(1), [[]])
        staging = self.state._staging
        graph = torch.cuda.CUDAGraph()
        numbers = torch.ones(1 << 20, device="cuda")
        with torch.cuda.graph(graph):
            twice = numbers * 2
            before, staging._file = staging._file, None
            staging._prepare(staging._layout, before)
            staging.wait()
            more = twice + 1
        graph.replay()
        self.assertTrue(torch.equal(more, torch.full_like(numbers, 3)))
        self.assertEqual(self.saves_while_it_trains(1), [[]])


def _on_cuda(value):
    if isinstance(value, torch.Tensor):
        return value.cuda()
    if isinstance(value, dict):
        return {key: _on_cuda(one) for key, one in value.items()}
    return [_on_cuda(one) for one in value] if isinstance(value, (list, tuple)) else value


if __name__ == "__main__":
    unittest.main()
