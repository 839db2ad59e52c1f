import { CLUSTER_ERROR_CODES } from './error-codes-cluster.ts';
import { QUEUE_ERROR_CODES } from './error-codes-queue.ts';
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
    title: 'The command line is not valid',
    explain:
      'Holdfast does not know a command, an option or a value. The message names it and the closest word that exists. `holdfast help` lists the commands, `holdfast help COMMAND` the options of one.',
  },
  PATH_NOT_FOUND: {
    exit: EXIT.noInput,
    title: 'The path does not exist',
    explain: 'Nothing exists at this path. Check the spelling, and whether the volume is mounted here.',
  },
  PATH_NOT_READABLE: {
    exit: EXIT.noInput,
    title: 'The path cannot be read',
    explain:
      'The system refused to open or list the path. The message carries its reason (permissions, an I/O error, a stale network mount). Holdfast cannot judge a checkpoint that it cannot read.',
  },
  PATH_NOT_SUPPORTED: {
    exit: EXIT.noInput,
    title: 'The path is neither a file nor a directory',
    explain: 'The path is a pipe, a socket or a device. Holdfast opens only regular files and directories.',
  },
  NO_LAST_GOOD: {
    exit: EXIT.no,
    title: 'There is no checkpoint to resume from',
    explain:
      'Checkpoints exist, but none is good enough for the level and the requirement of this command. `holdfast verify PATH` gives the reason for each. With `--require resumable`, only checkpoints with compared checksums count, which needs `--deep`. In this case `holdfast run` does not start from scratch: it starts no trainer and exits with 65.',
  },
  STORE_NOT_WRITABLE: {
    exit: EXIT.notWritten,
    title: 'The folder of the run is not writable',
    explain:
      'The system refused to create or rename something in the folder of the run. The cause is a missing permission, a read-only mount, or a network volume that maps root to an unprivileged user. Nothing was committed; earlier checkpoints are unchanged. Give the user that runs Holdfast write permission there.',
  },
  STORE_FULL: {
    exit: EXIT.notWritten,
    title: 'The volume or the quota is full',
    explain:
      'The disk or the quota became full during a save. Holdfast removed the staged files; earlier checkpoints are unchanged. `holdfast prune` frees what the retention rules allow, and never deletes a checkpoint that is needed.',
  },
  STORE_FAILED: {
    exit: EXIT.notWritten,
    title: 'The volume failed while Holdfast sealed a checkpoint',
    explain:
      'A read, write or sync failed; the message carries the error of the system. After a failed sync the kernel may have dropped the bytes, so Holdfast abandons this save and never retries it from the same files. Earlier checkpoints are unchanged. Check the volume and the kernel log.',
  },
  STORAGE_NOT_SUITED: {
    exit: EXIT.notWritten,
    title: 'This storage cannot hold a run',
    explain:
      'On this file system (a mounted object store, for example) a rename is not atomic, not possible, or unproven. Without an atomic rename, Holdfast can neither commit a save in one step nor fence older attempts. Keep the run on a disk or a network file system. `holdfast probe PATH` reports which storage a path is on.',
  },
  RUN_DAMAGED: {
    exit: EXIT.noInput,
    title: 'The folder .holdfast of the run cannot be read',
    explain:
      'A file that Holdfast keeps about the run is damaged, or a newer version of Holdfast wrote it. Nothing was changed. The checkpoints do not depend on this folder: `holdfast verify` still reads them. Move `.holdfast` away; the next command rebuilds it from their manifests if they all belong to one run. If they belong to several runs, Holdfast does not guess. First move the checkpoints of the other runs elsewhere; `holdfast ls RUN` shows the run of each.',
  },
  RUN_FOREIGN: {
    exit: EXIT.no,
    title: 'The checkpoint belongs to another run',
    explain:
      'Its manifest names a different run than the folder it is in. Holdfast never resumes from, prunes, moves or seals a checkpoint of another run. If you copied it here on purpose, delete its manifest and seal it.',
  },
  ATTEMPT_FENCED: {
    exit: EXIT.fenced,
    title: 'A newer attempt has taken over',
    explain:
      'A newer attempt of the run has started, so older attempts can no longer commit anything, whatever their clocks say. This process is stale and should exit.',
  },
  ATTEMPT_TAKEN: {
    exit: EXIT.fenced,
    title: 'The attempt belongs to another gang',
    explain:
      'One attempt is one gang: all its nodes and ranks give the same gang id. This attempt number belongs to a gang with a different id. Either two schedulers started the run, or an attempt number was used twice.',
  },
  SAVE_DOES_NOT_FIT: {
    exit: EXIT.notWritten,
    title: 'There is no room for the next save or fetch',
    explain:
      'Before a save or a fetch, Holdfast compares what it needs with the room that is left. A save needs the size of the last save, or the size you gave. A fetch needs the size of the copy, less the part that it already received. The free space, the inodes and the pod’s limit for ephemeral storage limit that room. So does the eviction line: the kubelet evicts pods long before the disk is full. Deleting what retention allows would not be enough for this save, and nothing is deleted for a fetch. So it was not started; earlier checkpoints are unchanged.',
  },
  SAVE_INCOMPLETE: {
    exit: EXIT.no,
    title: 'A part of the save is missing',
    explain:
      'A rank left no receipt, or a file that a receipt names does not exist. Holdfast abandoned the save, so that no run can resume from half of it. Earlier checkpoints are unchanged.',
  },
  SAVE_MIXED: {
    exit: EXIT.no,
    title: 'The pieces do not belong to one save',
    explain:
      'The pieces contradict each other. A receipt names a different run, attempt, save, step or world size, or two ranks name the same file. Or a file changed after its receipt, or no receipt names it. Most frameworks load such a mixture without an error and then train on nonsense, so Holdfast never seals it. It refuses a rank whose part would cause this before that rank writes. In that case another process acts as the same rank, or the other ranks save another step.',
  },
  CHECKPOINT_NOT_SEALABLE: {
    exit: EXIT.no,
    title: 'This cannot be sealed',
    explain:
      'Holdfast seals regular files below one folder, or files beside each other. It does not seal links that lead elsewhere, pipes, devices or unbounded trees. The message names the obstacle.',
  },
  CHECKPOINT_NOT_GOOD: {
    exit: EXIT.no,
    title: 'The checkpoint is not good enough to be sealed',
    explain:
      '`holdfast seal` reads every byte first, and seals only a checkpoint that a run can resume from. `holdfast verify --deep` reports what is wrong with this one. Use `--accept weights` for weights without training state, and `--accept anything` for formats that Holdfast does not know.',
  },
  CHECKPOINT_CHANGED: {
    exit: EXIT.no,
    title: 'The checkpoint changed while Holdfast sealed it',
    explain:
      'The size or the time of a file changed between the first and the last look: a process is still writing it. Seal the checkpoint when its writer is done.',
  },
  NOT_SEALED: {
    exit: EXIT.noInput,
    title: 'There is no sealed checkpoint of that name or step',
    explain:
      'The run has no sealed checkpoint with this name or step. `holdfast ls RUN` lists the sealed ones; `holdfast seal PATH` seals one that another tool finished.',
  },
  NAME_TAKEN: {
    exit: EXIT.notWritten,
    title: 'The name is already taken',
    explain:
      'Something else already has the name that the checkpoint should get. Holdfast never replaces anything: move it away, or choose another name.',
  },
  SETTING_INVALID: {
    exit: EXIT.usage,
    title: 'A setting in the environment is not valid',
    explain:
      'An environment variable, or the file that it names, has a value that Holdfast does not accept. The message names the variable, its value and the rule. Holdfast does not guess: correct the variable, or unset it.',
  },
  STORAGE_FAILED: {
    exit: EXIT.no,
    title: 'The storage failed during the probe',
    explain:
      'A test write or sync failed. The message carries the reason of the system, such as ENOSPC (full), EDQUOT (over a quota) or EIO (the device or the server failed). Holdfast removed what it had written. A save would fail in the same way.',
  },
  LEDGER_FAILED: {
    exit: EXIT.notWritten,
    title: 'The ledger of the run cannot be written',
    explain:
      'Holdfast appends what happens to a run (attempts, saves, notices, decisions, ends) to files in `.holdfast/ledger`. The system refused a write; the message carries the reason: a full volume, no permission, an I/O error. Training continues, and Holdfast tries again with the next event. `holdfast log` will not show the events that it could not write.',
  },
  ...CLUSTER_ERROR_CODES,
  ...REMOTE_ERROR_CODES,
  ...RUN_ERROR_CODES,
  ...QUEUE_ERROR_CODES,
  INTERRUPTED: {
    exit: EXIT.interrupted,
    title: 'Stopped by Ctrl-C',
    explain:
      'Ctrl-C ended the command before it was done. A command that only reads has changed nothing. A command that writes has left every checkpoint whole, and you can run it again.',
  },
  TERMINATED: {
    exit: EXIT.terminated,
    title: 'Stopped by SIGTERM',
    explain:
      'The system, a scheduler or a shutdown sent SIGTERM, and the command ended before it was done. A command that only reads has changed nothing. A command that writes has left every checkpoint whole, and you can run it again.',
  },
  OUTPUT_NOT_WRITTEN: {
    exit: EXIT.notWritten,
    title: 'A file could not be written',
    explain:
      'A file that the command should change could not be written; the message names it and the reason of the system. The file is as it was: the new text takes its place in one step, or not at all.',
  },
  OUTPUT_CLOSED: {
    exit: EXIT.outputClosed,
    title: 'The reader of the output closed the pipe',
    explain:
      'Standard output is a pipe whose other end was closed, as in `holdfast … | head`. The command stops without a message, because no reader is left.',
  },
  OUTPUT_FAILED: {
    exit: EXIT.outputFailed,
    title: 'The result could not be written',
    explain:
      'A write to standard output failed; the message carries the reason of the system. The file or device behind it holds only a part of the output.',
  },
  NO_RUNTIME: {
    exit: EXIT.noRuntime,
    title: 'Node.js is missing or too old',
    explain:
      'Holdfast needs Node.js 22.18 or newer. A clone installs its own with `npm ci`; an installed package uses the one on the PATH. The message says what was found instead, or which file of the installation is missing.',
  },
  INTERNAL: {
    exit: EXIT.internal,
    title: 'A defect in Holdfast',
    explain:
      'The code met a state that it did not expect. This is a bug: please report the command, its output and the version. Set HOLDFAST_DEBUG=1 to see where it happened.',
  },
} as const satisfies Record<string, ErrorKind>;

/** The stable code of an error in {@link ERROR_CODES}. */
export type ErrorCode = keyof typeof ERROR_CODES;
