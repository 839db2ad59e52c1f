"""Several ranks that step together, as under a launcher: the first process starts them, passes SIGTERM on and fails when one of them does.

Arguments: how many ranks, how many steps; and, where other nodes have more ranks, the first of these and how many there are in all. Every rank writes a file of its own into each checkpoint, with its step in it;
with SAME_NAMES in the environment all of them write the same one.
"""

import json
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import time

HERE, TOTAL = int(sys.argv[1]), int(sys.argv[2])
FIRST, WORLD = (int(sys.argv[3]), int(sys.argv[4])) if len(sys.argv) > 3 else (0, HERE)


def rank_main(rank, barrier):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(WORLD))
    import holdfast

    run = holdfast.attach()
    state = {"rank": rank, "step": -1, "sum": 0}
    name = "state.json" if "SAME_NAMES" in os.environ else f"rank-{rank}.json"
    start = run.resume(lambda folder: state.update(json.loads((folder / name).read_text())))
    print("start", rank, start, os.getpid(), flush=True)
    for step in range(start, TOTAL):
        # What a collective does: no rank is ever more than a step ahead.
        barrier.wait()
        time.sleep(0.002)
        state.update(step=step, sum=state["sum"] + step * (rank + 1))
        if run.step(step):
            with run.save(step) as folder:
                (folder / name).write_text(json.dumps(state))
        if rank == FIRST and step == start + 5:
            print("ready", flush=True)
    run.finish()
    print("finished", rank, state["sum"], flush=True)


def main():
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(HERE)
    ranks = [context.Process(target=rank_main, args=(rank, barrier)) for rank in range(FIRST, FIRST + HERE)]
    for process in ranks:
        process.start()

    def pass_on(*_):
        for process in ranks:
            process.terminate()

    signal.signal(signal.SIGTERM, pass_on)
    alive = ranks
    while alive:
        multiprocessing.connection.wait([process.sentinel for process in alive])
        alive = [process for process in alive if process.is_alive()]
        if any(process.exitcode not in (0, None) for process in ranks):
            for process in ranks:
                process.kill()
    sys.exit(0 if all(process.exitcode == 0 for process in ranks) else 1)


if __name__ == "__main__":
    main()
