"""A small training that saves its state through a device, for tests of staging."""

import os
import unittest
from pathlib import Path
from unittest import mock

from fake_supervisor import FakeSupervisor, attach

try:
    import torch

    import holdfast.torch
except ImportError as error:
    raise unittest.SkipTest(f"torch is not installed here: {error}") from None


class Training:
    """A model with running statistics, its optimizer, and a supervisor that keeps handed-over saves
    until it may release them."""

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
        # Wait until everything that is prepared after the first step is ready.
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
        return {name: copy_of(part.state_dict()) for name, part in self.state._parts.items()}

    def handed_over(self):
        """The folder of the next save that is handed over."""
        save = self.supervisor.expect("saved")["save"]
        return Path(self.supervisor.folder) / f"save-{save}"


def copy_of(value):
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: copy_of(one) for key, one in value.items()}
    return [copy_of(one) for one in value] if isinstance(value, (list, tuple)) else value


def differences(one, other, name="state"):
    """The paths at which two states differ."""
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
