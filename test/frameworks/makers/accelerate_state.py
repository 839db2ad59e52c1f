# family: torch
"""Accelerate's save_state: with safetensors weights, and with safe_serialization off, where every file is a torch zip.

The `step` inside random_states_0.pkl counts towards the next gradient accumulation and is 0 here: it is not the
training's step, which this format leaves to the user.
"""

import contextlib
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import accelerate
import torch
from accelerate.utils import ProjectConfiguration, set_seed
from common import start_fixture, write_fixture
from loaders.accelerate_state import load
from makers.tiny import TinyModel


def train_and_save(safe_serialization: bool) -> None:
    """Four steps and a save below the current folder, as checkpoints/checkpoint_0."""
    accelerate.state.PartialState._reset_state()
    accelerate.state.AcceleratorState._reset_state()
    set_seed(7)
    torch.set_num_threads(1)
    configuration = ProjectConfiguration(project_dir=".", automatic_checkpoint_naming=True)
    accelerator = accelerate.Accelerator(cpu=True, project_config=configuration)
    model = TinyModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.5)
    tokens = torch.utils.data.DataLoader(torch.arange(32) % 16, batch_size=8, shuffle=True)
    model, optimizer, scheduler, tokens = accelerator.prepare(model, optimizer, scheduler, tokens)
    for batch in tokens:
        with accelerator.accumulate(model):
            accelerator.backward(torch.nn.functional.cross_entropy(model(batch), batch % 4))
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
    accelerator.save_state(safe_serialization=safe_serialization)


def main(out_dir: str) -> None:
    versions = {"accelerate": accelerate.__version__, "torch": torch.__version__.split("+")[0]}
    content = ("weights", "optimizer", "scheduler", "rng")
    for fixture_id, safe, checksums in (("accelerate", True, "some"), ("accelerate-bin", False, "all")):
        data = start_fixture(out_dir, fixture_id)
        with contextlib.chdir(data):
            train_and_save(safe_serialization=safe)
        write_fixture(
            data,
            maker="accelerate_state",
            path="checkpoints/checkpoint_0",
            format="accelerate",
            step=None,
            content=content,
            checksums=checksums,
            versions=versions,
            load=load,
        )


if __name__ == "__main__":
    main(sys.argv[1])
