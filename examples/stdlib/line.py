"""What the two trainers beside this file train: a line through noisy points, by stochastic gradient descent.

Both take how many steps, and how many seconds a step and a save take at least, as those of a large model would: TOTAL STEP_SECONDS SAVE_SECONDS.
"""

import json
import random
import sys
import time

TOTAL = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
STEP_SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 0.005
SAVE_SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
PIECES = 20


def say(text):
    print(text, file=sys.stderr, flush=True)


class Model:
    def __init__(self):
        self.slope, self.offset, self.losses = 0.0, 0.0, []
        self.rng = random.Random(7)

    def train_one_step(self, step):
        x = self.rng.uniform(-1, 1)
        error = self.slope * x + self.offset - (3 * x + 1 + self.rng.gauss(0, 0.1))
        self.slope -= 0.05 * error * x
        self.offset -= 0.05 * error
        loss = error * error
        self.losses.append(loss)
        time.sleep(STEP_SECONDS)
        if step % max(1, TOTAL // 50) == 0:
            say(f"step {step} loss {loss:.4f}")
        return loss

    def save(self, path, step):
        """Piece by piece: whoever looks, or kills, in between finds half a file."""
        version, numbers, spare = self.rng.getstate()
        state = {"slope": self.slope, "offset": self.offset, "losses": self.losses, "rng": [version, list(numbers), spare]}
        text = json.dumps(state)
        size = -(-len(text) // PIECES)
        with open(path, "w") as file:
            for start in range(0, len(text), size):
                file.write(text[start : start + size])
                file.flush()
                if start == 0:
                    say(f"saving step {step}")
                time.sleep(SAVE_SECONDS / PIECES)
        say(f"saved step {step}")

    def load(self, path):
        state = json.loads(path.read_text())
        version, numbers, spare = state["rng"]
        self.slope, self.offset, self.losses = state["slope"], state["offset"], state["losses"]
        self.rng.setstate((version, tuple(numbers), spare))
