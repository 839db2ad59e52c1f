"""A loop of ten-millisecond steps that tells what its calls of the SDK cost; "bare" makes the same calls of something that does nothing.

Prints the seconds that the calls took.
"""

import sys
import time

import holdfast

KIND, STEPS = sys.argv[1], int(sys.argv[2])


class Nothing:
    def step(self, step, **metrics):
        return False

    def finish(self):
        pass


run = Nothing() if KIND == "bare" else holdfast.attach()
if KIND == "sdk" and not run.is_attached:
    sys.exit("not attached")
spent = 0
for step in range(STEPS):
    time.sleep(0.01)
    before = time.perf_counter_ns()
    run.step(step, loss=1.5)
    spent += time.perf_counter_ns() - before
run.finish()
print(spent / 1e9, flush=True)
