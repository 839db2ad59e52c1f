"""Two real processes over torch.distributed. The supervisor of one of them fails while a save block
holds a collective, in which a single rank would wait for ever."""

import datetime
import itertools
import json
import os
import subprocess
import sys
import time
import unittest
import weakref
from pathlib import Path

try:
    import torch
    import torch.distributed as dist

    dist.TCPStore  # noqa: B018
except (ImportError, AttributeError) as error:
    raise unittest.SkipTest(f"torch.distributed is not here: {error}") from None

import holdfast
from fake_supervisor import FakeSupervisor
from holdfast._supervisor import Supervisor
from holdfast._together import Together

WORLD = 2
STEPS = 45
HANG_SECONDS = 300


def train(rank, port, path):
    """Prints the steps that were saved into a folder of the supervisor, and all steps that were
    saved."""
    bound = datetime.timedelta(seconds=HANG_SECONDS)
    store = dist.TCPStore("127.0.0.1", port, None, False, bound)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=WORLD, timeout=bound)
    run = holdfast.attach({"HOLDFAST_SOCKET": path, "RANK": str(rank), "WORLD_SIZE": str(WORLD)})
    saved, kept = [], []
    for step in range(run.resume(lambda _: None), STEPS):
        gradient = torch.ones(4)
        dist.all_reduce(gradient)
        if run.step(step):
            with run.save(step) as folder:
                whole = torch.full((7,), float(step))
                dist.all_reduce(whole)
                assert whole.tolist() == [float(WORLD * step)] * 7, whole
                saved.append(step)
                if "holdfast-unkept" not in folder.name:
                    kept.append(step)
        assert gradient.tolist() == [float(WORLD)] * 4, gradient
    group = run._together._channel._group
    group = weakref.ref(group) if group is not None else lambda: None
    run.finish()
    assert group() is None, "the group of the ranks outlives the run, and its threads the interpreter"
    print(json.dumps([saved, kept]), flush=True)
    dist.destroy_process_group()


class Ranks(unittest.TestCase):
    def train(self, supervisors, how=""):
        store = dist.TCPStore("127.0.0.1", 0, None, True, datetime.timedelta(seconds=HANG_SECONDS), wait_for_workers=False)
        command = [sys.executable, "-W", "ignore", __file__]
        ranks = [
            subprocess.Popen([*command, str(rank), str(store.port), one.path, how], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for rank, one in enumerate(supervisors)
        ]
        try:
            ends = [one.communicate(timeout=HANG_SECONDS) for one in ranks]
        finally:
            for one in ranks:
                one.kill()
                one.wait()
        for one, (_, told) in zip(ranks, ends):
            self.assertEqual(one.returncode, 0, told)
        return [json.loads(said) for said, _ in ends]

    def test_a_rank_without_a_folder_keeps_all_ranks_from_saving_and_none_from_training(self):
        first, second = supervisors = [FakeSupervisor(every_steps=10) for _ in range(WORLD)]
        give = second.answers["begin"]
        # As in one shared run: a save has one name.
        second._saves = 1

        def answer(message):
            if message["step"] == 10:
                return {"type": "refused", "step": 10, "code": "SAVE_INCOMPLETE", "reason": "no room on this node"}
            return second.vanish() if message["step"] == 40 else give(message)

        second.answers["begin"] = answer
        self.assertEqual(self.train(supervisors), [[[20, 30], [20, 30]]] * WORLD)
        self.assertEqual([first.expect("failed")["save"] for _ in range(2)], ["1", "4"])

    def test_a_rank_without_an_answer_keeps_all_ranks_from_saving_and_none_from_training(self):
        first, second = supervisors = [FakeSupervisor(every_steps=10) for _ in range(WORLD)]
        second.path += "-that-is-not-there"
        self.assertEqual(self.train(supervisors), [[[], []]] * WORLD)
        self.assertEqual([first.expect("failed")["save"] for _ in range(4)], ["1", "2", "3", "4"])

    def test_ranks_wait_for_a_rank_whose_supervisor_still_seals_the_previous_save(self):
        _, second = supervisors = [FakeSupervisor(every_steps=10) for _ in range(WORLD)]
        give, told = second.answers["begin"], os.path.join(second.folder, "told")

        def answer(message):
            until = time.monotonic() + HANG_SECONDS
            while message["step"] == 20 and not os.path.exists(told) and time.monotonic() < until:
                time.sleep(0.001)
            return give(message)

        second.answers["begin"] = answer
        self.assertEqual(self.train(supervisors, told), [[[10, 20, 30, 40], [10, 20, 30, 40]]] * WORLD)

    def test_ranks_without_a_group_of_their_own_still_ask_each_other_before_a_save(self):
        _, second = supervisors = [FakeSupervisor(every_steps=10) for _ in range(WORLD)]
        give = second.answers["begin"]
        second.answers["begin"] = lambda message: second.vanish() if message["step"] == 30 else give(message)
        self.assertEqual(self.train(supervisors, "no-group"), [[[10, 20], [10, 20]]] * WORLD)


def tell_often(path):
    """Reports every few milliseconds that this rank still waits for a folder. Leaves a file when
    the store has received some reports."""
    Supervisor.COMING_SECONDS = 0.005
    tell, times = Together.tell_coming, itertools.count(1)

    def tell_coming(self, step):
        tell(self, step)
        if next(times) == 3:
            Path(path).touch()

    Together.tell_coming = tell_coming


if __name__ == "__main__":
    if sys.argv[1] == "1" and os.path.isabs(sys.argv[4]):
        tell_often(sys.argv[4])
    if "no-group" in sys.argv:

        def refuse(**_):
            raise RuntimeError("too many open files")

        dist.new_group = refuse
    train(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
