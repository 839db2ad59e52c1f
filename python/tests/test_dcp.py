import unittest
from pathlib import Path

try:
    import torch
    from torch.optim.swa_utils import AveragedModel

    import holdfast
    import holdfast.dcp
except ImportError as error:
    raise unittest.SkipTest(f"torch is not installed here: {error}") from None

from fake_supervisor import FakeSupervisor


class Sharded:
    """Has the attributes of a sharded tensor."""

    def state_dict(self):
        tensor = torch.zeros(2)
        tensor.full_tensor = lambda: tensor
        return {"weights": [tensor]}

    def load_state_dict(self, state):
        raise AssertionError("was saved")


def make():
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.AdamW(model.parameters())
    critic = torch.nn.Linear(3, 1)
    other = torch.optim.AdamW(critic.parameters())
    steps = torch.optim.lr_scheduler.MultiStepLR(other, [1, 3])
    parts = {"critic": critic, "other": other, "steps": steps, "mean": AveragedModel(critic)}
    return model, optimizer, parts, holdfast.dcp.State(model, optimizer, **parts)


def values(parts):
    moments = [one["exp_avg"].tolist() for one in parts["other"].state.values()]
    return moments, parts["steps"].state_dict(), parts["mean"].n_averaged.item(), parts["critic"].weight.tolist()


class Parts(unittest.TestCase):
    def setUp(self):
        self.supervisor = FakeSupervisor(every_steps=1)
        self.addCleanup(self.supervisor.vanish)
        self.run_ = holdfast.attach(self.supervisor.env())

    def train(self, model, optimizer, parts):
        for _ in range(2):
            (model(torch.rand(2, 3)).sum() + parts["critic"](torch.rand(2, 3)).sum()).backward()
            optimizer.step()
            parts["other"].step()
            parts["steps"].step()
            parts["mean"].update_parameters(parts["critic"])

    def comes_back(self, save):
        model, optimizer, parts, state = make()
        self.train(model, optimizer, parts)
        save(state)
        state.wait()
        self.supervisor.expect("saved")
        again, _, others, restored = make()
        restored.load(Path(self.supervisor.folder) / "save-1")
        self.assertEqual(values(others), values(parts))
        self.assertEqual(again.weight.tolist(), model.weight.tolist())

    def test_parts_are_restored_even_into_fresh_ones(self):
        self.comes_back(lambda state: state.save(self.run_, 1))

    def test_parts_are_restored_after_a_background_save(self):
        self.comes_back(lambda state: state.async_save(self.run_, 1))

    def test_a_sharded_part_is_refused_by_name(self):
        model = torch.nn.Linear(3, 1)
        with self.assertRaisesRegex(TypeError, r"critic\['weights'\]\[0\] is sharded"):
            holdfast.dcp.State(model, critic=Sharded()).save(self.run_, 1)
        self.assertIn("sharded", self.supervisor.expect("failed")["reason"])

    def test_loading_a_missing_part_names_the_parts_that_exist(self):
        model, _, parts, state = make()
        state.save(self.run_, 1)
        with self.assertRaisesRegex(KeyError, "no teacher: it holds critic, mean, other, steps"):
            holdfast.dcp.State(model, teacher=model, **parts).load(Path(self.supervisor.folder) / "save-1")


if __name__ == "__main__":
    unittest.main()
