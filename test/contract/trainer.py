"""A trainer that uses every part of the SDK which needs only the standard library."""

import contextlib

import holdfast

run = holdfast.attach()
start = run.resume(lambda folder: None)
for step in range(start, start + 4):
    if run.step(step, loss=0.5):
        # The second save comes to nothing, and training goes on.
        with contextlib.suppress(ValueError), run.save(step) as folder:
            (folder / "state").write_text(str(step))
            if step == start + 3:
                raise ValueError("cannot write")
    if step == start + 2:
        with run.busy("evaluation"):
            pass
run.finish()
