# family: torch
"""Megatron's older layout: one torch.save per tensor-parallel rank, mp_rank_00 and mp_rank_01, and the tracker.

The state comes from real Megatron-Core layers on two ranks under torchrun; the training loop that names the files is
not part of the published package, so the maker names them as it does.
"""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
import megatron.core
import torch
from common import start_fixture, write_fixture
from loaders.megatron_legacy import load
from makers.launch import leave, torchrun
from makers.megatron_tiny import RANKS, STEPS, MegatronTraining


def save_on_this_rank() -> None:
    """What each torchrun worker does, in the folder that gets the checkpoint."""
    training = MegatronTraining().run()
    rank = torch.distributed.get_rank()
    state = {
        **training.common(),
        "model": training.model.state_dict_for_save_checkpoint(),
        "optimizer": training.optimizer.state_dict(),
        "rng_state": training.rng(),
    }
    folder = Path(f"run/iter_{STEPS:07d}/mp_rank_{rank:02d}")
    folder.mkdir(parents=True)
    torch.save(state, folder / "model_optim_rng.pt")
    torch.distributed.barrier()
    if rank == 0:
        Path("run/latest_checkpointed_iteration.txt").write_text(str(STEPS))
    leave()


def main(out_dir: str) -> None:
    data = start_fixture(out_dir, "megatron-legacy")
    torchrun(__file__, RANKS, data)
    write_fixture(
        data,
        maker="megatron_legacy",
        path="run",
        format="megatron-legacy",
        step=STEPS,
        ranks=RANKS,
        content=("weights", "optimizer", "scheduler", "rng", "step"),
        checksums="all",
        versions={"megatron-core": megatron.core.__version__, "torch": torch.__version__.split("+")[0]},
        note="layers and state by megatron-core; files and tracker named by the maker as Megatron's training loop does",
        load=load,
    )


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        save_on_this_rank()
    else:
        main(sys.argv[1])
