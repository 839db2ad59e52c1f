"""A process beside the trainer that attaches as the same rank, says that it prepares something, starts the trainer, and outlives it until it is ended.

Arguments: the command of the trainer.
"""

import signal
import subprocess
import sys

import holdfast

run = holdfast.attach()
with run.busy("preparing"):
    pass
print("the trainer ended with", subprocess.call(sys.argv[1:]), flush=True)
signal.pause()
