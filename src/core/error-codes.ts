import { EXIT, type ExitCode } from './exit-codes.ts';

interface ErrorKind {
  readonly exit: ExitCode;
  readonly title: string;
  readonly explain: string;
}

/** Every error a user can meet, by its stable code. */
export const ERROR_CODES = {
  USAGE: {
    exit: EXIT.usage,
    title: 'The command line is not understood',
    explain:
      'A command, an option or a value is not one Holdfast knows. The message names it and the nearest word that exists. `holdfast help` lists the commands, `holdfast help COMMAND` the options of one.',
  },
  PATH_NOT_FOUND: {
    exit: EXIT.noInput,
    title: 'The path does not exist',
    explain: 'Nothing lies at the path that was given. Check the spelling, and whether the volume is mounted here.',
  },
  PATH_NOT_READABLE: {
    exit: EXIT.noInput,
    title: 'The path cannot be read',
    explain:
      'The system refused to open or list the path. The message carries its reason (permissions, an I/O error, a stale network mount). Nothing can be said about a checkpoint that cannot be read.',
  },
  PATH_NOT_SUPPORTED: {
    exit: EXIT.noInput,
    title: 'The path is neither a file nor a directory',
    explain: 'A pipe, a socket or a device was given. Holdfast opens regular files and directories only.',
  },
  NO_LAST_GOOD: {
    exit: EXIT.no,
    title: 'There is no checkpoint to resume from',
    explain:
      'Checkpoints were found, but none that a run could resume from at the level and with the requirement that were given. `holdfast verify PATH` tells the reason for each. With `--require resumable` only checkpoints count whose checksums were compared, which needs `--deep`.',
  },
  INTERRUPTED: {
    exit: EXIT.interrupted,
    title: 'Stopped by Ctrl-C',
    explain: 'Ctrl-C ended the command before it was done. Nothing was changed.',
  },
  TERMINATED: {
    exit: EXIT.terminated,
    title: 'Stopped by SIGTERM',
    explain:
      'Somebody (the system, a scheduler, a shutdown) asked the command to end, and it did, before it was done. Nothing was changed.',
  },
  OUTPUT_CLOSED: {
    exit: EXIT.outputClosed,
    title: 'The reader of the output went away',
    explain:
      'Standard output is a pipe whose other end was closed, as in `holdfast … | head`. The command stops, silently, because nobody would read the rest.',
  },
  OUTPUT_FAILED: {
    exit: EXIT.outputFailed,
    title: 'The result could not be written',
    explain:
      'Writing to standard output failed; the message carries the reason of the system. Whatever reached the file or device it was redirected to is incomplete.',
  },
  NO_RUNTIME: {
    exit: EXIT.noRuntime,
    title: 'There is no Node.js that is new enough',
    explain:
      'Holdfast runs on Node.js 22.18 or newer. A clone brings its own with `npm ci`; an installed package uses the one on the PATH. The message says what was found instead, or which file of the installation is missing.',
  },
  INTERNAL: {
    exit: EXIT.internal,
    title: 'A defect in Holdfast',
    explain:
      'Something happened that the code did not expect. This is a bug: please report the command, its output and the version. Set HOLDFAST_DEBUG=1 to see where it happened.',
  },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERROR_CODES;
