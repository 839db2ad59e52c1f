import { constants } from 'node:os';
import type { ErrorCode } from '../core/error-codes.ts';
import type { HoldfastError } from '../core/errors.ts';
import { EXIT, type ExitCode } from '../core/exit-codes.ts';
import type { Cause } from './notice.ts';

/** The name of a signal; real-time signals, which have none of their own, are `SIG` and the number. */
type SignalName = NodeJS.Signals | `SIG${number}`;

/** How the trainer's process ended. */
export type TrainerExit = { readonly code: number } | { readonly signal: SignalName };

/** Another node of the same attempt that was told to end. */
export interface InterruptedPeer {
  readonly node: string;
  readonly cause: Cause;
}

/** Everything the exit code of a run depends on. */
export interface RunEnd {
  /** The trainer said through the SDK that the run is finished. */
  readonly saidFinished: boolean;
  /** It was ended because it hung after that. */
  readonly wasEnded: boolean;
  /** A notice that ends the attempt had come when the trainer ended, or before it was to be started; what comes later changes no end. */
  readonly isTerminating: boolean;
  /** Where several nodes train together, one that was told to end before the trainer ended here: what happens to one of them happens to all. */
  readonly peer: InterruptedPeer | null;
  /** Null: the trainer was never started. */
  readonly trainer: TrainerExit | null;
  /** The exit code of the error for which the supervisor did not start the trainer, or ended it; null when there was none. */
  readonly failure: number | null;
}

export interface RunExit {
  readonly code: number;
  readonly kind: keyof typeof RUN_ENDS;
  readonly sentence: string;
}

interface RunEndRow {
  /** As the table shows it. */
  readonly code: string;
  readonly when: string;
  readonly means: string;
  /** What a Job should do about it. */
  readonly policy: string;
}

/** The ends of a run, for `docs/reference/exit-codes.md`. */
export const RUN_ENDS = {
  finished: {
    code: '0',
    when: 'The trainer said that the run is finished, and was ended only if it hung after that; or it exited with 0, and no notice was pending then that ends the attempt',
    means: 'finished',
    policy: 'complete',
  },
  interrupted: {
    code: '143',
    when: 'SIGTERM, Ctrl-C, a Spot reclaim or another notice that ends the attempt had come before the trainer ended, or before it was started again, here or on another node of the same attempt, and the trainer did not say that the run is finished, whatever its own code is',
    means: 'interrupted, and resumable from the last good checkpoint; the real code is in the termination message and in the ledger',
    policy: 'Ignore: start again, and do not count it',
  },
  failed: {
    code: 'the trainer’s own',
    when: 'The trainer exited with its own code and nobody had asked it to',
    means: 'an error of the trainer',
    policy: 'Count it',
  },
  killed: {
    code: '128 + n',
    when: 'Signal n killed the trainer and nobody had asked it to end: 137 is SIGKILL (mostly the kernel, out of memory), 139 a segmentation fault, 162 to 192 a real-time signal (on Linux; not where the trainer has closed what it inherited, or has no SDK and a process that it has forked lives on)',
    means: 'an error of the trainer or of the machine',
    policy: 'Count it',
  },
  refused: {
    code: '5, 64, 65, 66, 70, 73, 75, 126, 127',
    when: 'Holdfast itself could not start the trainer or had to end it: a newer attempt has taken over (5), the command line (64), checkpoints of which none is good or copies of another run (65), a path (66), a defect (70), the store (73, 75), a command that cannot be executed (126) or does not exist (127)',
    means: 'see the table above; never 1, with which every Python exception ends',
    policy: 'FailJob for 64, 65, 126 and 127, which no retry mends; Ignore for 5; Count the others',
  },
} as const satisfies Readonly<Record<string, RunEndRow>>;

/** Rules for a Job that fit the contract. The order matters: a disrupted pod has an exit code too. */
export const POD_FAILURE_POLICY = `podFailurePolicy:
  rules:
    - action: Ignore            # evicted, preempted, drained: not the run's fault
      onPodConditions:
        - type: DisruptionTarget
    - action: Ignore            # interrupted and resumable, or replaced by a newer attempt
      onExitCodes:
        operator: In
        values: [5, 143]
    - action: FailJob           # a wrong command line stays wrong, and bad checkpoints bad
      onExitCodes:
        operator: In
        values: [64, 65, 126, 127]`;

/** Another try, another way through the network or another node may mend these. */
const MAY_PASS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['CLOCK_SKEWED', 'CHECKSUM_MISMATCH', 'REMOTE_INVALID', 'STORAGE_FAILED']);

/** The exit code of an error for which no trainer was started. Other commands end with 1 where the answer is no; here that would look like the trainer's own. */
export function exitOfRefusal({ code, exitCode }: Pick<HoldfastError, 'code' | 'exitCode'>): ExitCode {
  if (exitCode !== EXIT.no) return exitCode;
  return MAY_PASS.has(code) ? EXIT.unavailable : EXIT.unusable;
}

/**
 * The exit code of `holdfast run`. 0 belongs to a finished run alone: after a notice that ends the attempt, every end without the trainer's
 * word is 143, because a trainer that traps SIGTERM and exits with 0 would make Kubernetes count an unfinished run as complete, and because
 * launchers turn whatever it was into 1.
 */
export function exitOfRun(end: RunEnd): RunExit {
  const { saidFinished, wasEnded, trainer, failure } = end;
  const own = trainer === null ? null : exitCodeOfTrainer(trainer);
  // Once the word is said, only an error that nobody asked for takes it back.
  if (saidFinished && (isInterrupted(end) || wasEnded || own === 0)) return { code: EXIT.ok, kind: 'finished', sentence: 'finished' };
  if (isInterrupted(end)) return { code: EXIT.terminated, kind: 'interrupted', sentence: interruptedSentence(end) };
  if (failure !== null) return { code: failure, kind: 'refused', sentence: `Holdfast ended it with ${failure}${trainerNote(trainer)}` };
  if (own === null || trainer === null) return { code: EXIT.internal, kind: 'refused', sentence: 'the trainer was never started' };
  if (own === 0) return { code: EXIT.ok, kind: 'finished', sentence: 'finished: the trainer exited with 0' };
  if ('signal' in trainer) return { code: own, kind: 'killed', sentence: `the trainer was killed by ${trainer.signal}` };
  return { code: own, kind: 'failed', sentence: `the trainer failed with exit code ${own}` };
}

/** A newer attempt, or an error of ours, comes before what happened on another node. */
function isInterrupted({ isTerminating, peer, failure }: RunEnd): boolean {
  return isTerminating || (peer !== null && failure === null);
}

function interruptedSentence({ isTerminating, peer, trainer }: RunEnd): string {
  const withWhom = isTerminating || peer === null ? '' : ` with ${peer.node}`;
  return `interrupted${withWhom}, resumable${trainerNote(trainer)}`;
}

/** The code as a shell would tell it: its own, or 128 + n for signal n. */
function exitCodeOfTrainer(trainer: TrainerExit): number {
  return 'signal' in trainer ? 128 + numberOf(trainer.signal) : trainer.code;
}

function numberOf(signal: SignalName): number {
  const known: Readonly<Record<string, number>> = constants.signals;
  return known[signal] ?? Number(signal.slice('SIG'.length));
}

function trainerNote(trainer: TrainerExit | null): string {
  if (trainer === null) return '; the trainer was not started';
  return 'signal' in trainer ? `; the trainer ended by ${trainer.signal}` : `; the trainer’s own exit code was ${trainer.code}`;
}
