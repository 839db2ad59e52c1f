import os
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

import holdfast
from fake_supervisor import FakeSupervisor, attach
from holdfast._rank import Rank, rank_of

try:
    import torch.multiprocessing
except ImportError as error:
    MISSING = f"torch is not installed here: {error}"
else:
    MISSING = None


def distributed(rank, world, is_initialized=True):
    """Stands in for an initialised torch.distributed."""
    module = types.SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: is_initialized, get_rank=lambda: rank, get_world_size=lambda: world
    )
    return mock.patch.dict(sys.modules, {"torch.distributed": module})


class WhichRank(unittest.TestCase):
    def test_the_environment_names_the_rank(self):
        with mock.patch.dict(sys.modules):
            sys.modules.pop("torch.distributed", None)
            self.assertEqual(rank_of({"RANK": "2", "WORLD_SIZE": "4"}), Rank(2, 4))
            for settings in ({}, {"RANK": "2"}, {"RANK": "4", "WORLD_SIZE": "4"}, {"RANK": "-1", "WORLD_SIZE": "x"}):
                self.assertEqual(rank_of(settings), Rank(0, 1))

    def test_an_initialised_torch_distributed_overrides_the_environment(self):
        with distributed(3, 8):
            self.assertEqual(rank_of({}), Rank(3, 8))
            # As when one process of a launcher starts several processes itself.
            self.assertEqual(rank_of({"RANK": "0", "WORLD_SIZE": "1"}), Rank(3, 8))
        with distributed(3, 8, is_initialized=False):
            self.assertEqual(rank_of({"RANK": "0", "WORLD_SIZE": "2"}), Rank(0, 2))
        with distributed(-1, 8):
            self.assertEqual(rank_of({}), Rank(0, 1))

    def test_a_process_that_learns_its_rank_after_attaching_does_not_count_twice(self):
        supervisor = FakeSupervisor()
        attach(supervisor)
        with distributed(1, 2), self.assertLogs("holdfast", "WARNING"):
            attach(supervisor)
        with distributed(1, 2):
            self.assertIs(holdfast.attach(supervisor.env()), holdfast.attach(supervisor.env()))

    @unittest.skipIf(MISSING, MISSING or "")
    def test_processes_that_torch_has_spawned_have_different_ranks(self):
        with tempfile.TemporaryDirectory() as place, mock.patch.dict(os.environ):
            for name in ("RANK", "WORLD_SIZE"):
                os.environ.pop(name, None)
            torch.multiprocessing.spawn(leave_rank, (place,), nprocs=2)
            self.assertEqual(sorted(name for name in os.listdir(place) if name != "store"), ["0 is 0 of 2", "1 is 1 of 2"])


def leave_rank(index, place):
    torch.distributed.init_process_group("gloo", init_method=f"file://{place}/store", rank=index, world_size=2)
    who = rank_of(os.environ)
    Path(place, f"{index} is {who.rank} of {who.world}").touch()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    unittest.main()
