# family: composer
"""Resumes a Composer trainer from the latest checkpoint of a run's folder, or from one file, and stops before a batch.

By then fit() has put back the RNG as well. A checkpoint of weights alone is loaded with load_weights_only.
"""

import functools
import random
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]
warnings.filterwarnings("ignore")
import composer.algorithms  # by every forked load otherwise
import cpuinfo
import numpy
import torch
from common import loader_main
from composer import Callback
from makers.composer_tiny import trainer

torch.set_num_threads(1)
# Every trainer starts another Python to ask which processor this is: most of the time of a load.
cpuinfo.get_cpu_info = functools.cache(cpuinfo.get_cpu_info)
cpuinfo.get_cpu_info()


class Resumed(Exception):
    """Raised out of fit() with everything that was loaded."""


class StopBeforeTheFirstBatch(Callback):
    def batch_start(self, state: Any, logger: Any) -> None:
        raise Resumed(
            {
                "time": {
                    name: value for name, value in state.timestamp.state_dict().items() if "wct" not in name
                },
                "weights": state.model.state_dict(),
                "optimizer": state.optimizers[0].state_dict(),
                "scheduler": state.schedulers[0].state_dict(),
                "rng": [torch.get_rng_state(), random.getstate(), numpy.random.get_state()],
            }
        )


def load(path: str) -> Any:
    file = Path(path) / "latest-rank0.pt" if Path(path).is_dir() else Path(path)
    if "optimizers" not in torch.load(file, map_location="cpu", weights_only=False)["state"]:
        return trainer(1000, load_path=str(file), load_weights_only=True).state.model.state_dict()
    try:
        trainer(1000, load_path=str(file), callbacks=[StopBeforeTheFirstBatch()]).fit()
    except Resumed as resumed:
        return resumed.args[0]
    raise RuntimeError("the trainer finished without a batch")


if __name__ == "__main__":
    loader_main(load)
