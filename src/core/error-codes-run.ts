import { EXIT } from './exit-codes.ts';

/** Errors of running a trainer; a part of the table in error-codes.ts. */
export const RUN_ERROR_CODES = {
  COMMAND_NOT_FOUND: {
    exit: EXIT.notFound,
    title: 'There is no such program',
    explain:
      'The command after `--` names a program that is not on the PATH, or a path that does not exist. Holdfast started no trainer and no attempt. Inside a container, the PATH of the image applies.',
  },
  COMMAND_NOT_EXECUTABLE: {
    exit: EXIT.notExecutable,
    title: 'The program cannot be executed',
    explain:
      'The system refused to execute the command after `--`. It is a folder, it has no execute permission, or it is a script whose first line names no interpreter. No trainer was started.',
  },
  GANG_INCOMPLETE: {
    exit: EXIT.unavailable,
    title: 'The nodes of the run did not all arrive',
    explain:
      'With several nodes (`--nodes`, or the variables of torchrun or a PyTorchJob), the supervisors first meet in the shared folder of the run. Only then do the trainers start, so that all nodes start the same attempt from the same checkpoint. One node did not arrive within ten minutes, or another process took its place. All nodes need the same `--dir` on shared storage, the same `--gang` and `--nodes`, and each its own `--node-rank`. If every node has its own folder, use `--nodes=1`. No trainer was started.',
  },
  GRID_INVALID: {
    exit: EXIT.usage,
    title: 'The grid of a sweep cannot be used',
    explain:
      'The file of `--grid` is YAML: a mapping from parameters to lists of values, which stands for all combinations, or a list of mappings, one for each trial. The message names the file and what is wrong in it. Names have letters, digits and `_` only, because they become variables; `trial` and `scheduled` are taken. No trainer was started.',
  },
  SOCKET_FAILED: {
    exit: EXIT.notWritten,
    title: 'The socket of the SDK cannot be created',
    explain:
      'The trainer talks to the supervisor through a Unix socket in a private folder. The system limits its path to about a hundred bytes, and the folder must be writable. Set TMPDIR to a short path of a writable folder. On a read-only root file system, mount an emptyDir at /tmp. No trainer was started.',
  },
  SEAL_OVERDUE: {
    exit: EXIT.notWritten,
    title: 'The disk does not respond to a save',
    explain:
      'Sealing a save takes more than five times its predicted maximum, and no byte has moved for half a minute. Where nothing was measured yet, the limit is ten minutes. Typical causes are a network file system without its server and a disk that hangs. Training continues; Holdfast refuses a further save that would have to wait for this one, with this code. When the disk responds again, Holdfast seals the save and accepts new ones. At a deadline Holdfast does not wait for this save. Earlier checkpoints are unchanged, and the data in memory stays there for the next start on this node.',
  },
  NO_PYTHON: {
    exit: EXIT.noRuntime,
    title: 'There is no Python 3 for the demo',
    explain:
      '`holdfast demo` interrupts a trainer that is written in Python and needs only the standard library. It needs `python3` on the PATH, version 3.9 or newer. Nothing else in Holdfast needs Python.',
  },
  DEMO_FAILED: {
    exit: EXIT.noRuntime,
    title: 'The demo trainer does not run',
    explain:
      'The example trainer failed even without an interruption, so the demo has nothing to show. The message carries the last line it printed. In most cases the Python on the PATH is broken or incomplete.',
  },
  STATUS_FAILED: {
    exit: EXIT.notWritten,
    title: 'The status of the run cannot be served',
    explain:
      '`holdfast run --status` could not listen there: the port is taken or needs more rights, or the address does not belong to this machine. The trainer runs on without it. Choose another port, or use `--status=0`: Holdfast then picks a free port and prints it.',
  },
} as const;
