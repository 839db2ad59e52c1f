# family: torch
"""Resumes a Trainer from a checkpoint folder, or from the newest one of a run, and stops before its first step.

By then train(resume_from_checkpoint=...) has loaded weights, optimizer, scheduler, trainer state and RNG.
"""

import random
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import deepspeed  # where it is installed, Accelerate loads it to ask whether a model is one of its engines: in every forked load
import numpy
import torch
import transformers
from common import loader_main
from makers.hf_tiny import Sequences, arguments, tiny_gpt2
from transformers.trainer_utils import get_last_checkpoint


class Resumed(Exception):
    """Raised out of train() with everything that was loaded."""


class StopBeforeTheFirstStep(transformers.TrainerCallback):
    def on_step_begin(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        scheduler = {k: v for k, v in objects["lr_scheduler"].state_dict().items() if k != "lr_lambdas"}
        raise Resumed(
            {
                "step": state.global_step,
                "history": state.log_history,
                "weights": objects["model"].state_dict(),
                "optimizer": objects["optimizer"].state_dict(),
                "scheduler": scheduler,
                "rng": [torch.get_rng_state(), random.getstate(), numpy.random.get_state()],
            }
        )


def load(path: str) -> Any:
    checkpoint = path
    if not Path(path).name.startswith("checkpoint-") and any(Path(path).glob("checkpoint-*")):
        checkpoint = get_last_checkpoint(path)
    with tempfile.TemporaryDirectory() as scratch:
        trainer = transformers.Trainer(
            model=tiny_gpt2(),
            args=arguments(output_dir=scratch, max_steps=1000, save_strategy="no"),
            train_dataset=Sequences(),
            callbacks=[StopBeforeTheFirstStep()],
        )
        try:
            trainer.train(resume_from_checkpoint=checkpoint)
        except Resumed as resumed:
            return resumed.args[0]
    raise RuntimeError("the trainer finished without a step")


if __name__ == "__main__":
    loader_main(load)
