"""The signal at which a trainer prints its stacks."""

import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path

PROGRAM = """
import os, signal, sys
taken = sys.argv[1:]
for number in taken:
    signal.signal(int(number), lambda *_: None)
from holdfast import _stacks
number = _stacks.register()
assert number == _stacks.register()
print(number, flush=True)
os.kill(os.getpid(), number)
print("alive", flush=True)
"""


def run(*taken: int) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    command = [sys.executable, "-c", PROGRAM, *map(str, taken)]
    return subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=60)


class StacksTest(unittest.TestCase):
    def number(self, *taken: int) -> int:
        ended = run(*taken)
        self.assertEqual((ended.returncode, ended.stdout.splitlines()[1:]), (0, ["alive"]), ended.stderr)
        self.assertIn("most recent call first", ended.stderr)
        return int(ended.stdout.splitlines()[0])

    def test_the_signal_prints_the_stacks_of_all_threads_and_the_trainer_continues(self) -> None:
        self.number()

    def test_a_signal_that_already_has_a_handler_is_left_alone(self) -> None:
        first = self.number()
        self.assertNotEqual(self.number(first), first)

    @unittest.skipUnless(sys.platform == "linux", "only Linux has real-time signals")
    def test_the_signal_is_one_that_no_other_program_sends(self) -> None:
        self.assertGreaterEqual(self.number(), signal.SIGRTMIN)


if __name__ == "__main__":
    unittest.main()
