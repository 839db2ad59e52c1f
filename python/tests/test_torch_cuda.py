"""Saves of a state on a real CUDA device, which trains on while they are made."""

import os
import shutil
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from fake_supervisor import FakeSupervisor, attach

try:
    import torch

    import holdfast.torch
    from holdfast._device import Cuda
    from test_torch_staging import _copy, differences
except ImportError as error:
    raise unittest.SkipTest(f"torch is not installed here: {error}") from None

if not torch.cuda.is_available():
    raise unittest.SkipTest("there is no CUDA device here")
if not os.path.isdir("/dev/shm"):
    raise unittest.SkipTest("there is no /dev/shm")

WIDTH = 8192
"""So wide that the state is 2.4 GB: it takes many of the steps to leave the device."""


class OnCuda(unittest.TestCase):
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
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
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
        """The device has room for what no optimizer writes, and no more."""
        take = Cuda.take
        patch = mock.patch.object(Cuda, "take", lambda device, size: take(device, size) if size < 16 << 20 else None)
        patch.start()
        self.addCleanup(patch.stop)

    def now(self):
        return {name: _copy(part.state_dict()) for name, part in self.state._parts.items()}

    def differences(self, expected):
        folder = Path(self.memory) / f"save-{self.supervisor.expect('saved')['save']}"
        saved = torch.load(folder / "state.pt", weights_only=True, map_location="cuda")
        found = differences(_on_cuda(expected), _on_cuda(saved))
        del saved
        shutil.rmtree(folder)
        return found

    def saves_while_it_trains(self, count=4):
        found = []
        for step in range(count):
            expected = self.now()
            self.state.async_save(self.run_, step)
            self.train(12)
            found.append(self.differences(expected))
            self.assertTrue(self.state._staging._file.is_free)
        return found

    def test_with_a_copy_on_the_device_every_save_is_what_was_there(self):
        self.assertEqual(self.saves_while_it_trains(), [[]] * 4)

    def test_without_room_for_it_every_save_is_what_was_there(self):
        self.without_room()
        self.assertEqual(self.saves_while_it_trains(), [[]] * 4)

    def test_without_room_for_anything_every_save_is_what_was_there(self):
        with mock.patch.object(Cuda, "take", lambda device, size: None):
            self.assertEqual(self.saves_while_it_trains(), [[]] * 4)

    def test_without_waiting_saves_would_be_torn(self):
        self.without_room()
        with mock.patch.object(Cuda, "hold", lambda device, event: None):
            self.assertNotEqual(self.saves_while_it_trains(1), [[]])

    def test_without_locked_memory_every_save_is_what_was_there(self):
        self.state.wait()
        self.state._staging._file.close()
        self.state._staging._file = None
        for step in range(2):
            expected = self.now()
            self.state.async_save(self.run_, step)
            self.train(12)
            self.assertEqual(self.differences(expected), [])

    def test_a_run_that_goes_on_from_a_save_ends_like_its_twin(self):
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


def _on_cuda(value):
    if isinstance(value, torch.Tensor):
        return value.cuda()
    if isinstance(value, dict):
        return {key: _on_cuda(one) for key, one in value.items()}
    return [_on_cuda(one) for one in value] if isinstance(value, (list, tuple)) else value


if __name__ == "__main__":
    unittest.main()
