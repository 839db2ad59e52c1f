# family: torch
"""DeepSpeed at every ZeRO stage, two real ranks under torchrun: `latest`, and one folder of rank files per tag.

DeepSpeed also drops two of its own scripts (zero_to_fp32.py, zero_to_torch.py) beside `latest`; they are no part of the
state and are taken away again.
"""

import contextlib
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import torch
from common import EXTRA_STEPS, start_fixture, write_fixture
from loaders.deepspeed_zero import load
from makers.launch import leave, torchrun

RANKS = 2
FIXTURES = [f"deepspeed-zero{stage}" for stage in range(4)]


def save_on_this_rank() -> None:
    """What each torchrun worker does, in the folder that gets the fixtures: it takes longer to start than to train at every stage."""
    from makers.zero_engine import engine

    for stage, fixture_id in enumerate(FIXTURES):
        trained = engine(stage)
        torch.manual_seed(100 + torch.distributed.get_rank())
        for _ in range(4 + EXTRA_STEPS):
            tokens = torch.randint(0, 16, (4,))
            trained.backward(torch.nn.functional.cross_entropy(trained(tokens), tokens % 4))
            trained.step()
        with contextlib.chdir(f"{fixture_id}/data"):
            trained.save_checkpoint("run", client_state={"rng": torch.get_rng_state()})
    leave()


def main(out_dir: str) -> None:
    import deepspeed

    versions = {"deepspeed": deepspeed.__version__, "torch": torch.__version__.split("+")[0]}
    folders = [start_fixture(out_dir, fixture_id) for fixture_id in FIXTURES]
    torchrun(__file__, RANKS, Path(out_dir))
    for data in folders:
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
        save_on_this_rank()
    else:
        main(sys.argv[1])
