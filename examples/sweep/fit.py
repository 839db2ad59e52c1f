"""One trial of a sweep. It fits a line by stochastic gradient descent, and needs only Python.

    holdfast run --grid=examples/sweep/grid.yaml --trial=0 --dir=runs/sweep -- \
        python3 examples/sweep/fit.py --rate={rate} --seed={seed}
    holdfast ls --sweep runs/sweep
"""

import argparse
import json
import random

import holdfast

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, required=True)
parser.add_argument("--seed", type=int, required=True)
parser.add_argument("--steps", type=int, default=2000)
arguments = parser.parse_args()

state = {"slope": 0.0, "offset": 0.0, "loss": 1.0}
noise = random.Random(arguments.seed)


def load(folder):
    state.update(json.loads((folder / "state.json").read_text()))
    version, numbers, spare = state.pop("noise")
    noise.setstate((version, tuple(numbers), spare))


def train_one_step():
    x = noise.uniform(-1, 1)
    error = state["slope"] * x + state["offset"] - (3 * x + 1 + noise.gauss(0, 0.1))
    state["slope"] -= arguments.rate * error * x
    state["offset"] -= arguments.rate * error
    state["loss"] = 0.99 * state["loss"] + 0.01 * error * error


run = holdfast.attach()
for step in range(run.resume(load), arguments.steps):
    train_one_step()
    if run.step(step, loss=state["loss"]):
        with run.save(step) as folder:
            (folder / "state.json").write_text(json.dumps({**state, "noise": noise.getstate()}))
run.report(loss=state["loss"])
run.finish()
