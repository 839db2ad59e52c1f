"""A trainer whose checkpoints have 2 MiB in 16 files, so that sending them slowly takes a while. Its argument is how many steps it makes."""

import sys
import time

import holdfast

run = holdfast.attach()
start = run.resume(lambda folder: (folder / "state-0").read_bytes())
print("start", start, flush=True)
for step in range(start, int(sys.argv[1])):
    time.sleep(0.005)
    if run.step(step):
        with run.save(step) as folder:
            for part in range(16):
                (folder / f"state-{part}").write_bytes(step.to_bytes(4, "big") * (32 * 1024))
run.finish()
