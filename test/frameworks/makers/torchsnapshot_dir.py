# family: torch
"""TorchSnapshot: one process, whose small tensors share a file under batched/, and two ranks under torchrun.

The two ranks save their model as replicated and with batching off, so that every tensor has a file of its own.
"""

import contextlib
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import torch
import torchsnapshot
from common import start_fixture, write_fixture
from loaders.torchsnapshot_dir import load
from makers.launch import leave, torchrun
from makers.tiny import TinierModel, Training
from torchsnapshot.knobs import override_is_batching_disabled

RANKS = 2


def app_state(training: Training) -> dict:
    return {
        "model": training.model,
        "optimizer": training.optimizer,
        "scheduler": training.scheduler,
        "progress": torchsnapshot.StateDict(step=training.step),
        "rng": torchsnapshot.RNGState(),
    }


def save_on_this_rank() -> None:
    """What each torchrun worker does, in the folder that gets the checkpoint."""
    torch.distributed.init_process_group("gloo")
    state = app_state(Training(TinierModel).run(100))
    with override_is_batching_disabled(True):
        torchsnapshot.Snapshot.take("step-100", state, replicated=["model/**"])
    leave()


def main(out_dir: str) -> None:
    versions = {"torchsnapshot": torchsnapshot.__version__, "torch": torch.__version__.split("+")[0]}
    common = dict(maker="torchsnapshot_dir", path="step-100", format="torchsnapshot", step=100, load=load)
    common.update(
        content=("weights", "optimizer", "scheduler", "rng", "step"), checksums="none", versions=versions
    )

    data = start_fixture(out_dir, "torchsnapshot")
    with contextlib.chdir(data):
        torchsnapshot.Snapshot.take("step-100", app_state(Training().run(100)))
    write_fixture(data, **common)

    data = start_fixture(out_dir, "torchsnapshot-2-ranks")
    torchrun(__file__, RANKS, data)
    write_fixture(data, ranks=RANKS, **common)


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        save_on_this_rank()
    else:
        main(sys.argv[1])
