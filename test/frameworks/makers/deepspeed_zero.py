# family: torch
"""DeepSpeed at every ZeRO stage, two real ranks under torchrun: `latest`, and one folder of rank files per tag.

DeepSpeed also drops two of its own scripts (zero_to_fp32.py, zero_to_torch.py) beside `latest`; they are no part of the
state and are taken away again.
"""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import torch
from common import EXTRA_STEPS, start_fixture, write_fixture
from loaders.deepspeed_zero import load
from makers.launch import leave, torchrun

RANKS = 2


def save_on_this_rank(stage: int) -> None:
    """What each torchrun worker does, in the folder that gets the checkpoint."""
    from makers.zero_engine import engine

    trained = engine(stage)
    torch.manual_seed(100 + torch.distributed.get_rank())
    for _ in range(4 + EXTRA_STEPS):
        tokens = torch.randint(0, 16, (4,))
        trained.backward(torch.nn.functional.cross_entropy(trained(tokens), tokens % 4))
        trained.step()
    trained.save_checkpoint("run", client_state={"rng": torch.get_rng_state()})
    leave()


def main(out_dir: str) -> None:
    import deepspeed

    versions = {"deepspeed": deepspeed.__version__, "torch": torch.__version__.split("+")[0]}
    for stage in range(4):
        data = start_fixture(out_dir, f"deepspeed-zero{stage}")
        torchrun(__file__, RANKS, data, str(stage))
        for script in (data / "run").glob("zero_to_*.py"):
            script.unlink()
        write_fixture(
            data,
            maker="deepspeed_zero",
            path="run",
            format="deepspeed",
            step=4,
            ranks=RANKS,
            content=("weights", "optimizer", "scheduler", "rng", "step"),
            checksums="all",
            versions=versions,
            note="DeepSpeed's own zero_to_*.py scripts beside `latest` were removed",
            load=load,
        )


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        save_on_this_rank(int(sys.argv[2]))
    else:
        main(sys.argv[1])
