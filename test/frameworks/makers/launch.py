"""Starts a maker's ranks under real torchrun, and ends a rank that has saved."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import torch.distributed


def torchrun(script: str, ranks: int, folder: Path) -> None:
    """Runs `script --rank` on that many ranks, in the folder that gets what they save."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    command = [*launcher, str(Path(script).resolve()), "--rank"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    subprocess.run(command, check=True, cwd=folder, env=environment, stdout=sys.stderr)


def leave() -> None:
    """Ends this rank once all have saved, without taking gloo down: on a busy machine that can abort the process."""
    torch.distributed.barrier()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
