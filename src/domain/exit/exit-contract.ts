import { constants } from 'node:os';
import type { ErrorCode } from '../../core/error-codes.ts';
import type { HoldfastError } from '../../core/errors.ts';
import { EXIT, type ExitCode } from '../../core/exit-codes.ts';
import type { Cause } from '../grace/notice.ts';

/**
 * The name of a signal; real-time signals, which have none of their own, are `SIG` and the number.
 */
type SignalName = NodeJS.Signals | `SIG${number}`;

/** How the trainer's process ended. */
export type TrainerExit = { readonly code: number } | { readonly signal: SignalName };

/** Another node of the same attempt that was interrupted. */
export interface InterruptedPeer {
  readonly node: string;
  readonly cause: Cause;
  /** Its trainer said that the run is finished, all the same. */
  readonly saidFinished: boolean;
}

/** The facts that decide the exit code of a run. */
export interface RunEnd {
  /** The trainer said through the SDK that the run is finished. */
  readonly saidFinished: boolean;
  /** The supervisor ended the trainer because it hung after reporting that the run is finished. */
  readonly wasEnded: boolean;
  /**
   * A notice that ends the attempt arrived before the trainer ended, or before it was to start.
   * Later notices do not change the end.
   */
  readonly isTerminating: boolean;
  /**
   * Another node that was interrupted before the trainer ended here. If one node is interrupted,
   * all nodes are.
   */
  readonly peer: InterruptedPeer | null;
  /** Null: the trainer was never started. */
  readonly trainer: TrainerExit | null;
  /**
   * The exit code of the error that kept the trainer from starting, or made the supervisor end it.
   * Null: no such error.
   */
  readonly failure: number | null;
}

/** The exit code of a run, with the end that it stands for. */
export interface RunExit {
  readonly code: number;
  readonly kind: keyof typeof RUN_ENDS;
  readonly sentence: string;
}

interface RunEndRow {
  /** The exit code, as the table shows it. */
  readonly code: string;
  readonly when: string;
  readonly means: string;
  /** The action that a Job should take. */
  readonly policy: string;
}

/** The ends of a run, for `docs/reference/exit-codes.md`. */
export const RUN_ENDS = {
  finished: {
    code: '0',
    when: 'The trainer reported that the run is finished (if it hangs after that, Holdfast ends it). Or the trainer exited with 0 while no notice that ends the attempt was pending',
    means: 'finished',
    policy: 'complete',
  },
  interrupted: {
    code: '143',
    when: 'A notice that ends the attempt (SIGTERM, Ctrl-C, a Spot reclaim or another) came before the trainer ended or was restarted. And the trainer did not report that the run is finished. The notice may come to any node of the attempt. The trainer’s own exit code does not matter',
    means:
      'interrupted, and resumable from the last good checkpoint; the trainer’s own code is in the termination message and in the ledger',
    policy: 'Ignore: restart the pod, and do not count the failure',
  },
  failed: {
    code: 'the trainer’s own',
    when: 'The trainer exited with its own code, without a notice',
    means: 'an error of the trainer',
    policy: 'Count it',
  },
  killed: {
    code: '128 + n',
    when: 'Signal n killed the trainer, without a notice: 137 is SIGKILL (mostly the kernel, out of memory), 139 a segmentation fault, 162 to 192 a real-time signal. Holdfast reports real-time signals on Linux only. It cannot if the trainer closed its inherited file descriptors, or has no SDK and left a forked process behind',
    means: 'an error of the trainer or of the machine',
    policy: 'Count it',
  },
  refused: {
    code: '5, 64, 65, 66, 70, 73, 75, 126, 127',
    when: 'Holdfast could not start the trainer, or had to end it. A newer attempt has taken over, whatever the trainer’s own code is (5); the command line is not valid (64); no checkpoint is good, or the copies belong to another run (65); a path (66); a defect (70); the store (73, 75); the command cannot be executed (126) or does not exist (127)',
    means: 'see the table above; never 1, because every Python exception exits with 1',
    policy: 'FailJob for 64, 65, 126 and 127, because no retry can fix them; Ignore for 5; Count the others',
  },
} as const satisfies Readonly<Record<string, RunEndRow>>;

/**
 * Rules for a Job that fit the contract. The order matters: a disrupted pod has an exit code too.
 */
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

/** Another attempt, another network path or another node may succeed after these errors. */
const MAY_PASS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['CLOCK_SKEWED', 'CHECKSUM_MISMATCH', 'REMOTE_INVALID', 'STORAGE_FAILED']);

/**
 * The exit code of an error that kept the trainer from starting. Other commands use 1 for a
 * negative answer; here 1 would look like the trainer's own code.
 */
export function exitOfRefusal({ code, exitCode }: Pick<HoldfastError, 'code' | 'exitCode'>): ExitCode {
  if (exitCode !== EXIT.no) return exitCode;
  return MAY_PASS.has(code) ? EXIT.unavailable : EXIT.unusable;
}

/**
 * The exit code of `holdfast run`. Only a finished run ends with 0. After a notice that ends the
 * attempt, every unfinished run ends with 143. A trainer that traps SIGTERM may exit with 0, and
 * Kubernetes would count the unfinished run as complete. Launchers turn other codes into 1.
 */
export function exitOfRun(end: RunEnd): RunExit {
  const { trainer, failure } = end;
  const own = trainer === null ? null : exitCodeOfTrainer(trainer);
  const isReplaced = failure === EXIT.fenced;
  // An older attempt can commit nothing any more: the newer one finishes the run, whatever the
  // trainer here says.
  if (!isReplaced && isWordKept(end, own)) return { code: EXIT.ok, kind: 'finished', sentence: 'finished' };
  if (isInterrupted(end)) return { code: EXIT.terminated, kind: 'interrupted', sentence: interruptedSentence(end) };
  if (isReplaced) return { code: failure, kind: 'refused', sentence: `a newer attempt has taken over${trainerNote(trainer)}` };
  if (failure !== null) return { code: failure, kind: 'refused', sentence: `Holdfast ended it with ${failure}${trainerNote(trainer)}` };
  if (own === null || trainer === null) return { code: EXIT.internal, kind: 'refused', sentence: 'the trainer was never started' };
  if (own === 0) return { code: EXIT.ok, kind: 'finished', sentence: 'finished: the trainer exited with 0' };
  if ('signal' in trainer) return { code: own, kind: 'killed', sentence: `the trainer was killed by ${trainer.signal}` };
  return { code: own, kind: 'failed', sentence: `the trainer failed with exit code ${own}` };
}

/**
 * Whether the trainer said that the run is finished, and this still counts. It does not count if
 * the trainer failed afterwards, or if another node was cut off before its trainer said the same.
 */
function isWordKept(end: RunEnd, own: number | null): boolean {
  const { saidFinished, wasEnded, peer } = end;
  if (!saidFinished || peer?.saidFinished === false) return false;
  return isInterrupted(end) || wasEnded || own === 0;
}

/** A newer attempt, or an error of ours, comes before what happened on another node. */
function isInterrupted({ isTerminating, peer, failure }: RunEnd): boolean {
  return isTerminating || (peer !== null && failure === null);
}

function interruptedSentence({ isTerminating, peer, trainer }: RunEnd): string {
  const withWhom = isTerminating || peer === null ? '' : ` with ${peer.node}`;
  return `interrupted${withWhom}, resumable${trainerNote(trainer)}`;
}

/** The code as a shell reports it: the process's own, or 128 + n for signal n. */
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
