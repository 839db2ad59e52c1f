"""Loads what every rank will need before torchrun forks them.

Torch's compiler takes as long to load as half of all the rest. Nothing here compiles anything, yet DistributedDataParallel and the optimizers ask
for it to be told so; something small answers in its place. That this changes no bit is seen at the end of every run: the run that they are compared
with has the compiler.
"""

import gc
import os
import signal
import sys
import types


def module(name, **contents):
    made = sys.modules[name] = types.ModuleType(name)
    made.__dict__.update(contents)
    return made


def without_compiler():
    rules = module(
        "torch._dynamo.trace_rules",
        LEGACY_MOD_INLINELIST=set(),
        get_legacy_mod_inlinelist=types.SimpleNamespace(cache_clear=lambda: None),
        clear_lru_cache=lambda: None,
    )
    return module(
        "torch._dynamo",
        trace_rules=rules,
        utils=module("torch._dynamo.utils", get_optimize_ddp_mode=lambda: "ddp_optimizer"),
        disable=lambda function, recursive=True, wrapping=True: function,
        graph_break=lambda: None,
    )


def forget_handlers():
    """Those of the launcher, which a program of its own would not have: a rank that waits for another would not hear a signal for half a minute."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


if any(argument.endswith("torchrun") for argument in sys.orig_argv):
    gc.disable()
    compiler = without_compiler()
    import torch

    torch._dynamo = compiler
    # What is loaded stays: the ranks need not look through it again, which would also copy its
    # pages.
    gc.freeze()
    gc.enable()
    os.register_at_fork(after_in_child=forget_handlers)
