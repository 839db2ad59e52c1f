"""A launcher that starts its workers again in the same life, as torchrun --max-restarts does: when one fails it kills the others and starts all of them once more.

Arguments: "dies" or "finishes", what happens to the first workers once a save of theirs is sealed: rank 1 dies, or it dies after rank 0 has said that the
run is finished; or "pauses": the only rank dies after some steps, and nobody is started before a file is there, which the third argument names. The second
one is how many steps are to be made in all.
"""

import json
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import time

MANNER, TOTAL = sys.argv[1], int(sys.argv[2])
# Several ranks save some hundred steps after they were asked to, which takes long on a busy
# machine.
WORLD = 1 if MANNER == "pauses" else 2


def rank_main(rank, generation, barrier, is_enough):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(WORLD))
    import holdfast

    run = holdfast.attach()
    state = {"step": -1, "sum": 0}
    start = run.resume(lambda folder: state.update(json.loads((folder / f"rank-{rank}.json").read_text())))
    print("start", generation, rank, start, flush=True)
    for step in range(start, TOTAL):
        barrier.wait()
        time.sleep(0.002)
        state.update(step=step, sum=state["sum"] + step)
        if run.step(step):
            with run.save(step) as folder:
                (folder / f"rank-{rank}.json").write_text(json.dumps(state))
        is_late = step >= start + 5 if MANNER == "pauses" else run.last_sealed is not None
        if generation == 0 and rank == 0 and is_late and not is_enough.is_set():
            if MANNER == "finishes":
                run.finish()
            is_enough.set()
        if generation == 0 and rank == WORLD - 1 and is_enough.is_set():
            os._exit(9)
        if rank == 0 and step == start + 5:
            print("ready", generation, flush=True)
    run.finish()
    print("finished", rank, state["sum"], flush=True)


def start_all(generation):
    context = multiprocessing.get_context("fork")
    barrier, is_enough = context.Barrier(WORLD), context.Event()
    ranks = [context.Process(target=rank_main, args=(rank, generation, barrier, is_enough)) for rank in range(WORLD)]
    for process in ranks:
        process.start()
    signal.signal(signal.SIGTERM, lambda *_: [process.terminate() for process in ranks])
    alive = ranks
    while alive:
        multiprocessing.connection.wait([process.sentinel for process in alive])
        alive = [process for process in alive if process.is_alive()]
        if any(process.exitcode not in (0, None) for process in ranks):
            for process in ranks:
                process.kill()
    return all(process.exitcode == 0 for process in ranks)


def pause():
    """Nobody is there meanwhile who could save."""
    if MANNER == "pauses":
        print("between", flush=True)
        while not os.path.exists(sys.argv[3]):
            time.sleep(0.01)
    return False


if __name__ == "__main__":
    sys.exit(0 if start_all(0) or pause() or start_all(1) else 1)
