# family: torch
"""Lightning: .ckpt files by ModelCheckpoint, one with everything and one with weights alone, and a sharded folder.

ModelCheckpoint records its absolute folder, so it saves into a temporary one. The sharded one is ModelParallelStrategy (FSDP2) on two ranks under torchrun: a DCP folder plus meta.pt.
"""

import shutil
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import lightning
import torch
from common import EXTRA_STEPS, start_fixture, write_fixture
from lightning.pytorch.callbacks import ModelCheckpoint
from loaders.lightning_ckpt import load
from makers.launch import leave, torchrun
from makers.lightning_tiny import RANKS, STEPS, TinyModule, trainer


def save_on_this_rank() -> None:
    """What each torchrun worker does, in the folder that gets the checkpoint."""
    training = trainer(sharded=True, max_steps=STEPS + EXTRA_STEPS)
    training.fit(TinyModule(sharded=True))
    training.save_checkpoint("checkpoints/epoch=0-step=4.ckpt")
    leave()


def main(out_dir: str) -> None:
    versions = {"lightning": lightning.__version__, "torch": torch.__version__.split("+")[0]}
    common = dict(maker="lightning_ckpt", step=STEPS, checksums="all", versions=versions, load=load)
    path = "checkpoints/epoch=0-step=4.ckpt"
    resumable = ("weights", "optimizer", "scheduler", "step")

    for fixture_id, weights_only in (("lightning", False), ("lightning-weights", True)):
        data = start_fixture(out_dir, fixture_id)
        with tempfile.TemporaryDirectory(prefix="run-") as run:
            callback = ModelCheckpoint(
                f"{run}/checkpoints", every_n_train_steps=STEPS, save_weights_only=weights_only
            )
            trainer(enable_checkpointing=True, callbacks=[callback]).fit(TinyModule())
            shutil.copytree(f"{run}/checkpoints", data / "checkpoints")
        content = ("weights", "step") if weights_only else resumable
        write_fixture(data, path=path, format="lightning", content=content, **common)

    data = start_fixture(out_dir, "lightning-sharded")
    torchrun(__file__, RANKS, data)
    write_fixture(data, path=path, format="lightning-sharded", ranks=RANKS, content=resumable, **common)


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        save_on_this_rank()
    else:
        main(sys.argv[1])
