"""A gate in the way of a trainer, which stops at one step until a file is gone: so an interruption lands where a test wants it.

Python imports a module of this name at its start, in every process that a launcher makes.

    PYTHONPATH=this/folder GATE_STEP=13 GATE_FILE=/tmp/x/gate python examples/torch/train.py 60

Each rank prints ``at step N rank R pid P`` when it is there. With GATE_PACE every step takes that many seconds more: ranks agree on a step that
lies ahead, and must not have run out of steps by then. With GATE_END no step from that one on is made: who is told to end must not have finished
on a fast machine before that.

family: torch
"""

import os
import time

from holdfast._run import Run

_step = Run.step
_gate_step, _gate_file = int(os.environ["GATE_STEP"]), os.environ["GATE_FILE"]
_pace, _end = float(os.environ["GATE_PACE"]), float(os.environ["GATE_END"])
_were_there = set()


def _gated(run: Run, step: int, **metrics: object) -> bool:
    if step >= _gate_step and run not in _were_there:
        _were_there.add(run)
        # In one piece: ranks that share a pipe come here at the same moment.
        os.write(1, f"at step {step} rank {run._who.rank} pid {os.getpid()}\n".encode())
        while os.path.exists(_gate_file):
            time.sleep(0.005)
    while step >= _end:
        time.sleep(0.005)
    time.sleep(_pace)
    return _step(run, step, **metrics)


Run.step = _gated
