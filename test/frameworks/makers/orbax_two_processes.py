"""Makes the Orbax fixture of a job with two processes, each writing its own part of every array.

Starts itself twice; the processes meet through jax.distributed on the loopback interface, arrays are
sharded over both, and each process leaves its own ocdbt.process_N folder, which Orbax joins under one
manifest.

Family: jax.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

PROCESSES = 2


def write_part(port: str, process: int, path: str) -> None:
    os.environ |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=1"}
    import jax
    import jax.numpy as jnp
    import numpy as np
    import orbax.checkpoint as ocp

    from tiny_training import train

    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{port}", PROCESSES, process)
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))

    def spread(array: np.ndarray) -> jax.Array:
        axes = ("data",) if array.ndim and array.shape[0] % PROCESSES == 0 else ()
        sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*axes))
        return jax.make_array_from_callback(array.shape, sharding, lambda index: jnp.asarray(array[index]))

    trained = train(100, hidden=64)  # wide enough that kernels lie outside the tree's nodes
    tree = {"params": trained["params"], "opt_state": {"mu": trained["m"], "nu": trained["v"]}}
    tree = jax.tree.map(spread, tree) | {"step": spread(np.asarray(100, np.int32))}
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(path, tree)
    jax.distributed.shutdown()


def main(out_dir: str) -> None:
    from common import start_fixture, write_fixture
    from loaders.orbax_two_processes import load

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    data = start_fixture(out_dir, "orbax-two-processes")
    with tempfile.TemporaryDirectory() as scratch:
        path = str(Path(scratch) / "step-100")
        command = [sys.executable, __file__, "--process", port, path]
        started = [subprocess.Popen([*command, str(number)]) for number in range(PROCESSES)]
        if any([process.wait(timeout=120) for process in started]):
            sys.exit("orbax_two_processes: a process failed")
        shutil.move(path, data / "step-100")
    write_fixture(
        data,
        load=load,
        maker="orbax_two_processes",
        path="step-100",
        format="orbax",
        step=100,
        ranks=PROCESSES,
        content=["weights", "optimizer", "step"],
        checksums="some",
        versions={name: version(name) for name in ("orbax-checkpoint", "tensorstore", "jax", "numpy")},
    )


if __name__ == "__main__":
    if sys.argv[1] == "--process":
        write_part(sys.argv[2], int(sys.argv[4]), sys.argv[3])
    else:
        main(sys.argv[1])
