"""Two ranks, the second of which cannot write its part of the first save and goes on; the first writes its own when that save has been given up.

Argument: how many steps.
"""

import multiprocessing
import os
import sys
import time

WORLD, TOTAL = 2, int(sys.argv[1])


def rank_main(rank, barrier):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(WORLD))
    import holdfast

    run = holdfast.attach()
    saves = 0
    for step in range(run.resume(lambda _: None), TOTAL):
        # What a collective does: no rank is ever more than a step ahead.
        barrier.wait()
        if not run.step(step):
            continue
        saves += 1
        try:
            with run.save(step) as folder:
                if saves == 1 and rank == 1:
                    raise OSError("no space left for this rank")
                while saves == 1 and folder.exists():
                    time.sleep(0.001)
                (folder / f"rank-{rank}.json").write_text('{"step": %d}' % step)
        except OSError as error:
            if rank == 0:
                raise
            print("failed", step, error, flush=True)
    run.finish()
    print("finished", rank, flush=True)


context = multiprocessing.get_context("fork")
barrier = context.Barrier(WORLD)
ranks = [context.Process(target=rank_main, args=(rank, barrier)) for rank in range(WORLD)]
for one in ranks:
    one.start()
for one in ranks:
    one.join()
    if one.exitcode != 0:
        barrier.abort()
sys.exit(max(abs(one.exitcode) for one in ranks))
