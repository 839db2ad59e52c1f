import { EXIT } from './exit-codes.ts';

/** Errors of running a trainer; a part of the table in error-codes.ts. */
export const RUN_ERROR_CODES = {
  COMMAND_NOT_FOUND: {
    exit: EXIT.notFound,
    title: 'There is no such program',
    explain:
      'The command after `--` names a program that is not on the PATH, or a path where nothing lies. No trainer was started and no attempt was begun. Inside a container the PATH is that of the image.',
  },
  COMMAND_NOT_EXECUTABLE: {
    exit: EXIT.notExecutable,
    title: 'The program cannot be run',
    explain:
      'The system refused to run the command after `--`: it is a folder, it may not be executed, or it is a script without a first line that names its interpreter. No trainer was started.',
  },
  GANG_INCOMPLETE: {
    exit: EXIT.unavailable,
    title: 'Not all nodes of the run have come together',
    explain:
      'With several nodes (`--nodes`, or the variables of torchrun and of a PyTorchJob) the supervisors meet in the shared folder of the run before any trainer starts, so that all of them begin the same attempt from the same checkpoint. One did not come in ten minutes, or another process came in its place. All need the same `--dir` on storage that they share, the same `--gang` and `--nodes`, and each its own `--node-rank`; where every node has a folder of its own, say `--nodes=1`. No trainer was started.',
  },
  SOCKET_FAILED: {
    exit: EXIT.notWritten,
    title: 'There is no place for the socket of the SDK',
    explain:
      'The trainer speaks with the supervisor through a Unix socket in a private folder. The system bounds its path to about a hundred bytes, and the folder must be writable. Set TMPDIR to a short path of a writable folder; on a read-only root file system mount an emptyDir at /tmp. No trainer was started.',
  },
  SEAL_OVERDUE: {
    exit: EXIT.notWritten,
    title: 'The disk does not answer for a save that was handed over',
    explain:
      'Sealing a save takes more than five times what such saves were predicted to take at most, and no byte has moved for half a minute, or, where none was measured, for ten minutes: a network file system without its server, a disk that hangs. Training goes on; a save that would have to wait for it is refused with this code. When the disk answers, the save is sealed and others follow. At a deadline nobody waits for it: every earlier checkpoint is as it was, and what lies in memory stays there for the next life on this node.',
  },
  NO_PYTHON: {
    exit: EXIT.noRuntime,
    title: 'There is no Python 3 for the demo',
    explain:
      '`holdfast demo` interrupts a trainer that is written in Python and needs nothing but its standard library: `python3` on the PATH, 3.9 or newer. Nothing else in Holdfast needs Python.',
  },
  DEMO_FAILED: {
    exit: EXIT.noRuntime,
    title: 'The trainer of the demo does not run',
    explain:
      'The example trainer did not come to its end even when nobody interrupted it, so nothing could be shown. The message carries the last line it printed; mostly the Python of the PATH is broken or incomplete.',
  },
  STATUS_FAILED: {
    exit: EXIT.notWritten,
    title: 'The status of a run cannot be served',
    explain:
      '`holdfast run --status` could not listen there: the port is taken, needs more rights, or the address is not one of this machine. The trainer runs on without it. Choose another port, or `--status=0` for any that is free, which is then told.',
  },
} as const;
