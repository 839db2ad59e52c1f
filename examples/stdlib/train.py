"""A trainer that needs nothing but Python, made interruption-proof.

    holdfast run --every 200steps -- python3 examples/stdlib/train.py

Interrupt it as often as you like (Ctrl-C, kill, kill -9) and start it again with the same line: it goes on where it was, and ends with the
same numbers as one that was never interrupted, because the state of the random numbers is saved with the weights.
"""

import holdfast
from line import TOTAL, Model

model = Model()
run = holdfast.attach()
start = run.resume(lambda folder: model.load(folder / "state.json"))
print(f"from step {start}", flush=True)
for step in range(start, TOTAL):
    loss = model.train_one_step(step)
    if run.step(step, loss=loss):
        with run.save(step) as folder:
            model.save(folder / "state.json", step)
run.finish()
print(f"slope {model.slope!r} offset {model.offset!r}", flush=True)
