import contextlib
import logging
import os
import signal
import tempfile
import unittest
import warnings
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

try:
    import torch
    from lightning.pytorch import Callback, LightningModule, Trainer
    from lightning.pytorch.loops.fetchers import _PrefetchDataFetcher
    from lightning.pytorch.plugins.io import AsyncCheckpointIO, TorchCheckpointIO
    from lightning.pytorch.utilities.combined_loader import CombinedLoader
    from torch.utils.data import DataLoader, Dataset, IterableDataset

    from holdfast.lightning import HoldfastCallback, _Loader
except ImportError as error:
    raise unittest.SkipTest(f"Lightning is not installed here: {error}") from None

from fake_supervisor import FakeSupervisor

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

LENGTH = 7


class Stream(IterableDataset):
    """A stream of unknown length."""

    def __iter__(self):
        for index in range(LENGTH):
            yield torch.tensor([float(index), torch.rand(()).item()])


class Items(Dataset):
    def __len__(self):
        return LENGTH

    def __getitem__(self, index):
        return torch.tensor([float(index), torch.rand(()).item()])


class Model(LightningModule):
    """Keeps the batches that it saw and the random numbers at each."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
        self.seen = []

    def on_after_batch_transfer(self, batch, dataloader_idx):
        return batch + torch.rand(())

    def training_step(self, batch, index):
        self.seen.append((batch.tolist(), torch.rand(()).item()))
        return self.layer(batch).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


class Draws(Callback):
    """Draws random numbers at a place that a resumed run passes once more."""

    def on_train_start(self, trainer, pl_module):
        torch.rand(())

class Lightning(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="holdfast-sdk-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def fit(self, dataset, resume=None, epochs=3, protocol="holdfast.sdk/1", **options):
        """What a run sees that saves at every step, and its saves."""
        supervisor = FakeSupervisor(resume=resume, every_steps=1, protocol=protocol)
        torch.manual_seed(1 if resume is None else 99)
        model = Model()
        quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
        with mock.patch.dict(os.environ, supervisor.env()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            callbacks = [HoldfastCallback(), Draws()]
            trainer = Trainer(
                accelerator="cpu", max_epochs=epochs, callbacks=callbacks, default_root_dir=self.folder, **quiet, **options
            )
            with contextlib.ExitStack() as after:
                after.callback(supervisor.vanish)
                trainer.fit(model, DataLoader(dataset, batch_size=2))
        return model.seen, supervisor

    def same_after_every_interruption(self, dataset, **options):
        whole, supervisor = self.fit(dataset, **options)
        for step in range(1, len(whole)):
            resume = {"step": step, "path": str(Path(supervisor.folder) / f"save-{step}"), "save": str(step)}
            rest, _ = self.fit(dataset, resume=resume, **options)
            self.assertEqual(rest, whole[step:], f"interrupted after step {step} of {len(whole)}")
        return whole

    def test_a_stream_of_unknown_length_resumes_with_the_next_batch(self):
        self.assertEqual(len(self.same_after_every_interruption(Stream())), 12)

    def test_a_stream_that_is_left_early_resumes_with_the_next_batch(self):
        self.assertEqual(len(self.same_after_every_interruption(Stream(), limit_train_batches=3)), 9)

    def test_an_epoch_that_lightning_starts_twice_before_training_is_one_epoch(self):
        fetcher = _PrefetchDataFetcher()
        loader = _Loader(DataLoader(Stream(), batch_size=2), SimpleNamespace(_data_fetcher=fetcher))
        fetcher.setup(CombinedLoader(loader))
        iter(fetcher)
        places = []
        for _ in range(2):
            iter(fetcher)
            places.append((loader.state()["epoch"], loader.state()["position"]))
            next(fetcher)
            places.append((loader.state()["epoch"], loader.state()["position"]))
        self.assertEqual(places, [(0, 0), (0, 1), (1, 0), (1, 1)])

    def test_a_dataset_with_a_length_resumes_with_the_next_batch(self):
        self.assertEqual(len(self.same_after_every_interruption(Items())), 12)

    def test_a_save_is_handed_over_complete_even_if_lightning_saves_in_the_background(self):
        there = []

        class Watched(HoldfastCallback):
            def _save(self, trainer, folder):
                before = trainer.strategy.checkpoint_io
                super()._save(trainer, folder)
                there.append(((folder / "checkpoint.ckpt").exists(), trainer.strategy.checkpoint_io is before))

        with mock.patch(f"{__name__}.HoldfastCallback", Watched):
            self.fit(Items(), epochs=1, plugins=[AsyncCheckpointIO()])
        self.assertEqual(there, [(True, True)] * 4)

    def test_a_rank_without_an_answer_from_its_supervisor_ends_at_sigterm_like_the_others(self):
        handlers = []

        class Watching(HoldfastCallback):
            def on_train_batch_end(self, *args):
                handlers.append(signal.getsignal(signal.SIGTERM))

        before = signal.getsignal(signal.SIGTERM)
        with mock.patch(f"{__name__}.HoldfastCallback", Watching), self.assertLogs("holdfast", "WARNING"):
            self.fit(Items(), epochs=1, protocol="holdfast.sdk/9")
        self.assertEqual(handlers, [before] * 4)

    def test_lightnings_own_way_to_save_is_restored_even_after_an_error(self):
        class Failing(HoldfastCallback):
            def _save(self, trainer, folder):
                self.before = trainer.strategy.checkpoint_io
                with mock.patch.object(TorchCheckpointIO, "save_checkpoint", side_effect=OSError("disk full")):
                    super()._save(trainer, folder)

            def on_exception(self, trainer, pl_module, exception):
                after.append(trainer.strategy.checkpoint_io is self.before)

        after = []
        with mock.patch(f"{__name__}.HoldfastCallback", Failing), self.assertRaisesRegex(OSError, "disk full"):
            self.fit(Items(), epochs=1, plugins=[AsyncCheckpointIO()])
        self.assertEqual(after, [True])

    def test_a_save_without_its_file_is_given_up(self):
        with mock.patch.object(TorchCheckpointIO, "save_checkpoint"), self.assertRaisesRegex(RuntimeError, "no checkpoint.ckpt"):
            self.fit(Items(), epochs=1)


if __name__ == "__main__":
    unittest.main()
