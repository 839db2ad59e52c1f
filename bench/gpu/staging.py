"""How long training stands still for a save of the state of a GPU, beside torch.save and DCP; and what it costs over a minute.

Runs under `holdfast run`, which gives it memory and folders, copies what it hands over to the disk and seals it:

    holdfast run --dir=RUN --every=1h --keep=1 -- python3 bench/gpu/staging.py REPORT.json

The state is AdamW's over 62 parameters, 12 GB. A step is matrix products of a set length and the step of the optimizer, and one follows the other without a pause.
The device itself tells when each has ended: the stall of a save is what the steps of the second after it take longer than the median of those of the two seconds before. The same
without a save in between says how far to believe it; what a save adds is the difference of the medians of both. The trainer looks at its loss every second step, or (`in step`) after every one: then the device has nothing to do while a
save is begun. A save is asked for and made as the three lines of a trainer do it. Where its time goes on the host is told beside it (median and most).

    HOLDFAST_BENCH_ROUNDS=2      fewer saves
    --only=WORDS                 only the saves with these words in their name
    --pace                       steps per second with a save every 30 s
    --others                     torch.save and DCP
"""

import json
import os
import shutil
import statistics
import sys
import time
from unittest import mock

import torch
import torch.distributed.checkpoint as dcp

import holdfast
import holdfast.torch
from holdfast._device import Cuda, bytes_of
from holdfast._torch_image import kept_in
from spans import Spans

GIGABYTES = float(os.environ.get("HOLDFAST_BENCH_GIGABYTES", "12"))
ROUNDS = int(os.environ.get("HOLDFAST_BENCH_ROUNDS", "7"))
PARAMETERS = 62
BEFORE_SECONDS = 1.5
CALM_SECONDS = 2.0
"""After a seal the disk is still busy; saves that matter come at longer intervals."""
SMALL = 16 << 20


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        count = int(GIGABYTES * 1e9 / 4 / 3 / PARAMETERS)
        self.weights = torch.nn.ParameterList(torch.nn.Parameter(torch.randn(count, device="cuda")) for _ in range(PARAMETERS))
        self.register_buffer("mean", torch.zeros(4096, device="cuda"))
        self.register_buffer("variance", torch.ones(4096, device="cuda"))


class Trainer:
    """Steps whose forward and backward are matrix products, and whose optimizer is real."""

    def __init__(self):
        torch.manual_seed(1)
        self.model = Model()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        for parameter in self.model.parameters():
            parameter.grad = torch.randn_like(parameter)
        self.a, self.b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        self.c = torch.empty_like(self.a)
        self.state = holdfast.torch.State(model=self.model, optimizer=self.optimizer)
        self.step(1)
        self.product_ms = min(self._product_ms() for _ in range(3))

    def _product_ms(self):
        torch.cuda.synchronize()
        started = time.perf_counter()
        for _ in range(200):
            torch.matmul(self.a, self.b, out=self.c)
        torch.cuda.synchronize()
        return (time.perf_counter() - started) * 1000 / 200

    def products(self, step_ms):
        return max(1, round(step_ms / self.product_ms))

    def step(self, products):
        self.model.mean.add_(1)
        for _ in range(products):
            torch.matmul(self.a, self.b, out=self.c)
        self.optimizer.step()


class Steps:
    """Steps one after the other; the device tells how long each takes."""

    def __init__(self, trainer, step_ms, every):
        self._trainer = trainer
        self._products = trainer.products(step_ms)
        self._every = every
        self._step_seconds = step_ms / 1000
        self._ends = [self._mark()]

    def _mark(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def in_seconds(self, seconds):
        """How many steps take about so long."""
        return max(2, round(seconds / self._step_seconds))

    @property
    def count(self):
        return len(self._ends) - 1

    def make(self, count):
        for _ in range(count):
            self._trainer.step(self._products)
            self._ends.append(self._mark())
            if self.count % self._every == 0:
                self._ends[-1].synchronize()

    def milliseconds(self):
        torch.cuda.synchronize()
        return [before.elapsed_time(after) for before, after in zip(self._ends, self._ends[1:])]


class Saver:
    """Saves of ours, one after the other."""

    def __init__(self, run, trainer, spans):
        self.run = run
        self.trainer = trainer
        self.spans = spans
        self.number = 1

    def __call__(self):
        # As if the supervisor had asked for it a moment ago.
        self.run._on_push({"type": "save"})
        with self.spans.save():
            if self.run.step(self.number):
                self.trainer.state.async_save(self.run, self.number)

    def is_over(self):
        """What was saved is sealed."""
        return not self.run.is_attached or self.run.last_sealed == self.number

    def rest(self):
        self.trainer.state.wait()
        while not self.is_over():
            time.sleep(0.01)
        self.number += 1
        time.sleep(CALM_SECONDS)


def measure(trainer, step_ms, every, saving, saves):
    save, is_over = saving
    steps = Steps(trainer, step_ms, every)
    before, after = steps.in_seconds(BEFORE_SECONDS), steps.in_seconds(1)
    places, stood = [], []
    for _ in range(saves):
        steps.make(before + after)
        if every > 1 and steps.count % every == 0:
            # Right after a look it would be in step.
            steps.make(1)
        places.append(steps.count)
        begun = time.perf_counter()
        save()
        stood.append((time.perf_counter() - begun) * 1000)
        steps.make(after)
        while not is_over():
            steps.make(1)
        steps.make(steps.in_seconds(CALM_SECONDS))
    times = steps.milliseconds()

    def stall(place):
        return sum(times[place : place + after]) - after * statistics.median(times[place - before : place])

    facts = {"stallMs": [stall(place) for place in places], "withoutMs": [stall(place - after) for place in places], "hostMs": stood}
    rounded = {name: sorted(round(one, 1) for one in values) for name, values in facts.items()}
    added = statistics.median(facts["stallMs"]) - statistics.median(facts["withoutMs"])
    median = {name: round(statistics.median(values), 1) for name, values in facts.items()}
    return {"stepMs": round(statistics.median(times), 1), "addedMs": round(added, 1), "medians": median, **rounded}


def link_gigabytes():
    """What the link gives: a large copy into memory that the driver itself has locked."""
    size = 4 << 30
    host = torch.empty(size, dtype=torch.uint8, pin_memory=True)
    source = torch.randint(0, 255, (size,), dtype=torch.uint8, device="cuda")
    seconds = []
    for _ in range(5):
        torch.cuda.synchronize()
        started = time.perf_counter()
        host.copy_(source, non_blocking=True)
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - started)
    return size / statistics.median(seconds[1:]) / 1e9


def deliver(trainer, saver):
    """From the moment when a save is due to its being handed over, on an idle device."""
    seconds = []
    for _ in range(2):
        torch.cuda.synchronize()
        started = time.perf_counter()
        saver()
        trainer.state.wait()
        seconds.append(time.perf_counter() - started)
        saver.rest()
    return {"seconds": [round(one, 4) for one in seconds], "GBs": round(GIGABYTES / statistics.median(seconds), 1)}


def others(trainer):
    """torch.save and DCP, into plain memory: nothing of Holdfast."""
    folder = f"/dev/shm/others-{os.getpid()}"
    os.mkdir(folder)

    def state():
        return {name: part.state_dict() for name, part in trainer.state._parts.items()}

    def clear():
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)

    waiting = []

    def is_over():
        if not waiting or not waiting[-1].done():
            return False
        waiting.pop().result()
        clear()
        return True

    def is_written():
        clear()
        return True

    try:
        yield "torch.save", measure(trainer, 400, 2, (lambda: torch.save(state(), f"{folder}/state.pt"), is_written), 1)
        begin = lambda: waiting.append(dcp.async_save(state(), checkpoint_id=f"{folder}/dcp", no_dist=True))  # noqa: E731
        yield "DCP async_save", measure(trainer, 400, 2, (begin, is_over), 1)
    finally:
        shutil.rmtree(folder)


def copy_ms(trainer):
    """How long the device itself takes for a copy of the state."""
    staging = trainer.state._staging
    states = holdfast.torch._states_of(trainer.state._parts)
    marks = []
    for _ in range(3):
        began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        sources = [bytes_of(one.storage) for one in kept_in(states).values()]
        # Meanwhile the host is ahead of it.
        trainer.step(trainer.products(50))
        began.record()
        staging._snapshot(range(len(sources)), sources)
        ended.record()
        torch.cuda.synchronize()
        marks.append(began.elapsed_time(ended))
    return round(statistics.median(marks), 2)


def pace(trainer, saver):
    """Steps per second over a minute with a save every 30 s, between two stretches without."""
    products = trainer.products(100)

    def steps_in(seconds, save_at=()):
        due = list(save_at)
        torch.cuda.synchronize()
        started, count = time.perf_counter(), 0
        while time.perf_counter() - started < seconds:
            trainer.step(products)
            count += 1
            if due and time.perf_counter() - started >= due[0]:
                due.pop(0)
                saver.number += 1
                saver()
            if count % 2 == 0:
                torch.cuda.current_stream().synchronize()
        torch.cuda.synchronize()
        return count / (time.perf_counter() - started)

    before, during, after = steps_in(20), steps_in(60, (5.0, 35.0)), steps_in(20)
    saver.rest()
    without = (before + after) / 2
    return {"without": [round(before, 4), round(after, 4)], "with": round(during, 4), "share": round(during / without, 4)}


def main():
    report = {"card": torch.cuda.get_device_name(), "torch": torch.__version__, "date": time.strftime("%Y-%m-%d"), "gigabytes": GIGABYTES}

    def note(name, facts):
        report[name] = facts
        print(f"{name}: {json.dumps(facts)}", flush=True)
        if len(sys.argv) > 1:
            with open(sys.argv[1], "w") as out:
                json.dump(report, out, indent=1)

    run = holdfast.attach()
    started = time.perf_counter()
    trainer = Trainer()
    steps = Steps(trainer, 100, 2)
    while trainer.state._staging._preparing.is_alive():
        steps.make(2)
    ready = round(time.perf_counter() - started, 1)
    steps.make(40)
    times = steps.milliseconds()
    facts = {"stepMs": round(statistics.median(times[2:-40]), 1), "mostMs": round(max(times[2:-40]), 1), "afterwardsMs": round(statistics.median(times[-40:]), 1)}
    note("preparing", {"seconds": ready, **facts})
    note("link GB/s", round(link_gigabytes(), 1))
    note("copy on the device, ms", copy_ms(trainer))
    spans = Spans()
    saver = Saver(run, trainer, spans)
    note("delivered", deliver(trainer, saver))

    def is_over():
        if not saver.is_over():
            return False
        saver.number += 1
        return True

    only = next((word.partition("=")[2] for word in sys.argv if word.startswith("--only=")), "")

    def ours(way, step_ms, every, saves):
        name = f"{way}, {step_ms} ms{', in step' if every == 1 else ''}"
        if only not in name:
            return
        spans.look()
        with spans.watched():
            facts = measure(trainer, step_ms, every, (saver, is_over), saves)
        note(name, {**facts, "spans": spans.look()})

    for step_ms, every in ((100, 2), (400, 2), (100, 1)):
        ours("copy on the device", step_ms, every, ROUNDS)
    take = Cuda.take
    with mock.patch.object(Cuda, "take", lambda device, size: take(device, size) if size < SMALL else None):
        for step_ms, every, saves in ((400, 2, ROUNDS), (400, 1, ROUNDS), (100, 2, 1)):
            ours("beside the training", step_ms, every, saves)
    if "--pace" in sys.argv:
        note("pace", pace(trainer, saver))
    if "--others" in sys.argv:
        for name, facts in others(trainer):
            note(name, facts)
    run.finish()


if __name__ == "__main__":
    main()
