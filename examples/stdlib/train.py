"""A trainer that needs nothing but Python: it fits a line to noisy points by stochastic gradient descent.

    holdfast run --every 200steps -- python3 examples/stdlib/train.py

Interrupt it as often as you like (Ctrl-C, kill, kill -9) and start it again with the same line: it goes on where it was, and ends with the
same numbers as one that was never interrupted, because the state of the random numbers is saved with the weights.
"""

import json
import random
import sys
import time

import holdfast

TOTAL = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
STEP_SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 0.005


class Model:
    def __init__(self):
        self.slope, self.offset = 0.0, 0.0
        self.rng = random.Random(7)

    def train_one_step(self):
        x = self.rng.uniform(-1, 1)
        error = self.slope * x + self.offset - (3 * x + 1 + self.rng.gauss(0, 0.1))
        self.slope -= 0.05 * error * x
        self.offset -= 0.05 * error
        time.sleep(STEP_SECONDS)
        return error * error

    def save(self, folder):
        version, numbers, spare = self.rng.getstate()
        state = {"slope": self.slope, "offset": self.offset, "rng": [version, list(numbers), spare]}
        (folder / "state.json").write_text(json.dumps(state))

    def load(self, folder):
        state = json.loads((folder / "state.json").read_text())
        version, numbers, spare = state["rng"]
        self.slope, self.offset = state["slope"], state["offset"]
        self.rng.setstate((version, tuple(numbers), spare))


model = Model()
run = holdfast.attach()
start = run.resume(model.load)
print(f"from step {start}", flush=True)
for step in range(start, TOTAL):
    loss = model.train_one_step()
    if run.step(step, loss=loss):
        with run.save(step) as folder:
            model.save(folder)
run.finish()
print(f"slope {model.slope!r} offset {model.offset!r}", flush=True)
