import os
import tempfile
import unittest
import warnings
from pathlib import Path
from unittest import mock

try:
    import torch
    from torch.utils.data import Dataset
    from transformers import Trainer, TrainingArguments

    import holdfast.transformers
except ImportError as error:
    raise unittest.SkipTest(f"transformers is not installed here: {error}") from None

from fake_supervisor import FakeSupervisor

STEPS = 6


class Items(Dataset):
    def __len__(self):
        return 2 * STEPS

    def __getitem__(self, index):
        return {"x": torch.tensor([float(index), 1.0]), "labels": torch.tensor(index)}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def forward(self, x, labels=None):
        return {"loss": self.layer(x).square().mean(), "logits": x}


class HuggingFace(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="holdfast-sdk-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def train(self, metrics=None, **options):
        """The saves of a run, by step, and the Trainer's own settings during each save."""
        supervisor = FakeSupervisor(every_steps=1)
        args = TrainingArguments(
            output_dir=str(self.folder / "own"),
            per_device_train_batch_size=2,
            max_steps=STEPS,
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
            logging_strategy="no",
            **options,
        )
        with mock.patch.dict(os.environ, supervisor.env()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trainer = Trainer(Model(), args, train_dataset=Items(), eval_dataset=Items(), compute_metrics=metrics)
            try:
                holdfast.transformers.train(trainer)
            finally:
                supervisor.vanish()
        return supervisor, args

    def saved(self, supervisor):
        found = {}
        for folder in Path(supervisor.folder).glob("save-*/checkpoint-*"):
            found[int(folder.name.partition("-")[2])] = {path.name for path in folder.iterdir()}
        return found

    def test_a_save_has_what_a_resume_needs_even_if_the_trainers_own_saves_have_only_the_model(self):
        supervisor, args = self.train(save_strategy="steps", save_steps=3, save_only_model=True)
        for step, names in self.saved(supervisor).items():
            self.assertLessEqual({"optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json"}, names, f"step {step}")
        self.assertEqual(sorted(self.saved(supervisor)), list(range(1, STEPS + 1)))
        own = {path.name for path in (self.folder / "own" / "checkpoint-3").iterdir()}
        self.assertNotIn("optimizer.pt", own)
        self.assertTrue(args.save_only_model)

    def test_a_save_is_made_even_at_an_evaluation_without_improvement(self):
        scores = iter([1.0, 3.0, 2.0, 2.5, 4.0, 0.0])
        supervisor, _ = self.train(
            metrics=lambda _: {"score": next(scores)},
            save_strategy="best",
            eval_strategy="steps",
            eval_steps=1,
            metric_for_best_model="score",
            greater_is_better=True,
        )
        self.assertEqual(sorted(self.saved(supervisor)), list(range(1, STEPS + 1)))
        own = sorted(path.name for path in (self.folder / "own").glob("checkpoint-*"))
        self.assertEqual(own, ["checkpoint-1", "checkpoint-2", "checkpoint-5"])


if __name__ == "__main__":
    unittest.main()
