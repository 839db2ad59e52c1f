import { REMOTE_ERROR_CODES } from './error-codes-remote.ts';
import { RUN_ERROR_CODES } from './error-codes-run.ts';
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
      'Checkpoints were found, but none that a run could resume from at the level and with the requirement that were given. `holdfast verify PATH` tells the reason for each. With `--require resumable` only checkpoints count whose checksums were compared, which needs `--deep`. `holdfast run` starts no trainer from nothing then, and ends with 65.',
  },
  STORE_NOT_WRITABLE: {
    exit: EXIT.notWritten,
    title: 'The folder of the run cannot be written',
    explain:
      'The system refused to make or rename something in the folder of the run: no permission, a read-only mount, or a network volume that treats root as nobody. Nothing was committed and every earlier checkpoint is as it was. Give the user that runs Holdfast the right to write there.',
  },
  STORE_FULL: {
    exit: EXIT.notWritten,
    title: 'The volume or the quota is full',
    explain:
      'The disk or the quota was full in the middle of a save. What was staged is removed; every earlier checkpoint is as it was. `holdfast prune` frees what the retention rules allow, and nothing that is needed.',
  },
  STORE_FAILED: {
    exit: EXIT.notWritten,
    title: 'The volume failed while a checkpoint was sealed',
    explain:
      'Reading, writing or syncing failed with an error of the system, which the message carries. After a failed sync the kernel may have dropped the bytes, so the save is given up and never tried again from the same files. Every earlier checkpoint is as it was. Look at the volume and the kernel’s log.',
  },
  STORAGE_NOT_SUITED: {
    exit: EXIT.notWritten,
    title: 'This storage cannot hold a run',
    explain:
      'On this file system (a mount of an object store, for example) a rename is not one step, or not possible, or nobody can say. Then neither a save can be committed in one step nor an older attempt be kept from committing. Keep the run on a disk or a network file system. `holdfast probe PATH` tells what lies under a path.',
  },
  RUN_DAMAGED: {
    exit: EXIT.noInput,
    title: 'The folder .holdfast of the run cannot be understood',
    explain:
      'A file that Holdfast keeps about the run is damaged, or a newer version of Holdfast made it. Nothing was changed. The checkpoints do not depend on it: `holdfast verify` reads them, and after moving `.holdfast` away the next command makes a new one from their manifests, where all of them are of one run. Where they are of several and nothing says whose folder it is, none is made: move those of the other runs elsewhere first (`holdfast ls RUN` tells whose each is).',
  },
  RUN_FOREIGN: {
    exit: EXIT.no,
    title: 'The checkpoint belongs to another run',
    explain:
      'Its manifest names another run than the folder it lies in. Checkpoints of other runs are never resumed from, pruned, moved or sealed again. If it was copied here on purpose, remove its manifest and seal it.',
  },
  ATTEMPT_FENCED: {
    exit: EXIT.fenced,
    title: 'A newer attempt has taken over',
    explain:
      'A newer life of the run was started, so that writers of older ones can commit nothing any more, whatever their clocks say. This process is a leftover and should end.',
  },
  ATTEMPT_TAKEN: {
    exit: EXIT.fenced,
    title: 'The attempt belongs to another gang',
    explain:
      'One attempt is one gang: all its nodes and ranks give the same gang id. The number that was given belongs to a gang with another id. Two schedulers may have started the run twice, or a number was used again.',
  },
  SAVE_DOES_NOT_FIT: {
    exit: EXIT.notWritten,
    title: 'There is no room for the next save, or for what is fetched',
    explain:
      'Before a save starts, and before a copy is fetched, what it needs (the size of the last save, or as told; that of the copy, less what was received before) is held against the free space, the inodes, the pod’s limit for ephemeral storage, and the line at which the kubelet evicts pods, which comes long before the disk is full. Releasing what retention allows would not make it fit (nothing is released for a copy), so it was not started, and every earlier checkpoint is as it was.',
  },
  SAVE_INCOMPLETE: {
    exit: EXIT.no,
    title: 'A part of the save is missing',
    explain:
      'A rank left no receipt, or a file that a receipt names is not there. The save was given up, so that nobody can resume from half of it; every earlier checkpoint is as it was.',
  },
  SAVE_MIXED: {
    exit: EXIT.no,
    title: 'The pieces are not of one save',
    explain:
      'A receipt names another run, attempt, save, step or world size than the save that is sealed, two ranks name the same file, a file has changed since its receipt, or there is a file nobody vouches for. Such a mixture loads without an error in most frameworks and trains on nonsense, so it is never sealed. A rank whose part would make such a mixture is refused before it writes: another process takes part as the same rank, or the other ranks save another step.',
  },
  CHECKPOINT_NOT_SEALABLE: {
    exit: EXIT.no,
    title: 'This cannot be sealed',
    explain:
      'Only regular files below one folder, or files beside each other, can be sealed: no links that lead elsewhere, pipes or devices, no unbounded trees. The message names what is in the way.',
  },
  CHECKPOINT_NOT_GOOD: {
    exit: EXIT.no,
    title: 'The checkpoint is not good enough to be sealed',
    explain:
      '`holdfast seal` reads every byte first, and seals only what a run could resume from. `holdfast verify --deep` tells what is wrong with this one. Weights without training state are sealed with `--accept weights`, formats that Holdfast does not know with `--accept anything`.',
  },
  CHECKPOINT_CHANGED: {
    exit: EXIT.no,
    title: 'The checkpoint changed while it was sealed',
    explain:
      'A file changed its size or time between the first and the last look: somebody is still writing it. Seal it when its writer is done.',
  },
  NOT_SEALED: {
    exit: EXIT.noInput,
    title: 'There is no sealed checkpoint of that name or step',
    explain:
      'The run has no sealed checkpoint with the name or step that was given. `holdfast ls RUN` lists what there is; `holdfast seal PATH` seals one that another tool finished.',
  },
  NAME_TAKEN: {
    exit: EXIT.notWritten,
    title: 'The name is taken',
    explain: 'Something else lies where the checkpoint should go. Nothing is ever replaced; move it away or give another name.',
  },
  SETTING_INVALID: {
    exit: EXIT.usage,
    title: 'A setting in the environment is not understood',
    explain:
      'An environment variable that Holdfast reads, or the file that one names, does not hold what it should. The message names the variable, its value and the rule. Nothing is guessed: correct it, or unset it.',
  },
  STORAGE_FAILED: {
    exit: EXIT.no,
    title: 'The storage failed while it was tried',
    explain:
      'A write or a sync that the storage should have done failed; the message carries the reason of the system, such as ENOSPC (full), EDQUOT (over a quota) or EIO (the device or the server failed). What was written is removed again. A save would meet the same failure.',
  },
  LEDGER_FAILED: {
    exit: EXIT.notWritten,
    title: 'The ledger of the run cannot be written',
    explain:
      'What happens to a run (attempts, saves, notices, decisions, ends) is appended to files in `.holdfast/ledger`. The system refused, with the reason in the message: a full volume, no permission, an I/O error. Training is not stopped for that, and recording is tried again with the next event; what could not be written is missing from `holdfast log`.',
  },
  ...REMOTE_ERROR_CODES,
  ...RUN_ERROR_CODES,
  INTERRUPTED: {
    exit: EXIT.interrupted,
    title: 'Stopped by Ctrl-C',
    explain:
      'Ctrl-C ended the command before it was done. A command that only looks has changed nothing; one that changes something has left every checkpoint whole, and can be run again.',
  },
  TERMINATED: {
    exit: EXIT.terminated,
    title: 'Stopped by SIGTERM',
    explain:
      'Somebody (the system, a scheduler, a shutdown) asked the command to end, and it did, before it was done. A command that only looks has changed nothing; one that changes something has left every checkpoint whole, and can be run again.',
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
