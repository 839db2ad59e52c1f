"""Loads what every rank will need before torchrun forks them; the compiler is what takes long, and DistributedDataParallel asks for it."""

import sys

if any(argument.endswith("torchrun") for argument in sys.orig_argv):
    import torch._dynamo  # noqa: F401
