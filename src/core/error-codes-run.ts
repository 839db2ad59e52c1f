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
  SOCKET_FAILED: {
    exit: EXIT.notWritten,
    title: 'There is no place for the socket of the SDK',
    explain:
      'The trainer speaks with the supervisor through a Unix socket in a private folder. The system bounds its path to about a hundred bytes, and the folder must be writable. Set TMPDIR to a short path of a writable folder; on a read-only root file system mount an emptyDir at /tmp. No trainer was started.',
  },
} as const;
