"""Two real processes over torch.distributed with a gradient scaler, as in mixed precision.
Accelerate has each of them write the scaler under the same name."""

import datetime
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import torch
    import torch.distributed as dist
    from accelerate import Accelerator

    import holdfast.accelerate

    dist.TCPStore  # noqa: B018
except (ImportError, AttributeError) as error:
    raise unittest.SkipTest(f"Accelerate is not installed here: {error}") from None

from holdfast._written import Written

WORLD = 2
HANG_SECONDS = 300


def save(rank, port, folder):
    """For each way to save, prints the files that the rank has named and those that it has made, in
    a folder of its own."""
    bound = datetime.timedelta(seconds=HANG_SECONDS)
    store = dist.TCPStore("127.0.0.1", port, None, False, bound)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=WORLD, timeout=bound)
    accelerator = Accelerator(cpu=True)
    assert accelerator.num_processes == WORLD, accelerator.num_processes
    model = torch.nn.Linear(2, 2)
    accelerator.prepare(model, torch.optim.AdamW(model.parameters()))
    scaler = accelerator.scaler = torch.amp.GradScaler("cpu")
    told = []
    for name, write in (("state", holdfast.accelerate.State(accelerator).save), ("bare", lambda own: accelerator.save_state(str(own)))):
        own = Path(folder, f"{name}-{rank}")
        own.mkdir()
        written = Written(own)
        write(own)
        written.stop()
        told.append([sorted(written.names), sorted(os.listdir(own))])
    assert accelerator.scaler is scaler
    print(json.dumps(told), flush=True)
    dist.destroy_process_group()


class Scaled(unittest.TestCase):
    def test_a_scaler_that_all_ranks_hold_does_not_count_as_a_mixture(self):
        with tempfile.TemporaryDirectory(prefix="holdfast-sdk-") as folder:
            (state, bare), (others_state, others_bare) = self.save(folder)
        for (named, made), (others_named, others_made) in ((state, others_state), (bare, others_bare)):
            self.assertEqual(set(named) & set(others_named), set())
            self.assertLessEqual({"model.safetensors", "optimizer.bin", "random_states_0.pkl"}, set(named))
            self.assertIn("random_states_1.pkl", others_named)
            self.assertIn("scaler.pt", made)
        self.assertNotIn("scaler.pt", others_state[1])

    def save(self, folder):
        store = dist.TCPStore("127.0.0.1", 0, None, True, datetime.timedelta(seconds=HANG_SECONDS), wait_for_workers=False)
        ranks = []
        try:
            for rank in range(WORLD):
                place = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(WORLD), "LOCAL_WORLD_SIZE": str(WORLD)}
                env = {**os.environ, **place, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port)}
                command = [sys.executable, "-W", "ignore", __file__, str(rank), str(store.port), folder]
                ranks.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
            ends = [one.communicate(timeout=HANG_SECONDS) for one in ranks]
        finally:
            for one in ranks:
                one.kill()
                one.wait()
        for one, (_, told) in zip(ranks, ends):
            self.assertEqual(one.returncode, 0, told)
        return [json.loads(said.splitlines()[-1]) for said, _ in ends]


if __name__ == "__main__":
    save(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
