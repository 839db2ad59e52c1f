import { type EndCause, END_CAUSES } from '../causes/catalogue.ts';
import { causeOfDisruption, isOutOfService } from '../causes/disruption.ts';
import { causeInWords, isRejection } from '../causes/kubelet-words.ts';
import { causeOfNotice } from '../causes/noticed.ts';
import type { TerminationMessage } from '../exit/termination-message.ts';

/** How a training container ended. */
export interface ContainerEnd {
  readonly exitCode: number;
  /** The word of the runtime: `Completed`, `Error`, `OOMKilled`, `ContainerStatusUnknown`. */
  readonly reason: string | null;
  readonly finishedMs: number | null;
}

/** The facts about a pod that decide what its end means. Times are milliseconds since 1970. */
export interface PodFacts {
  /** The pod was seen before, and is gone now. */
  readonly isGone: boolean;
  readonly phase: string | null;
  readonly reason: string | null;
  readonly message: string | null;
  /** The time of the request to delete the pod; null: none was made. */
  readonly deletedMs: number | null;
  /** The true condition DisruptionTarget, or null. */
  readonly disruption: { readonly reason: string | null; readonly message: string | null; readonly sinceMs: number | null } | null;
  /** The end of the training container; null: it has not ended, or nobody knows how. */
  readonly ended: ContainerEnd | null;
  /** The termination message of a supervisor; null: there is none. */
  readonly told: Pick<TerminationMessage, 'provisional' | 'cause' | 'end'> | null;
  /** The container runs under `holdfast run`, whose exit codes have a meaning. */
  readonly isSupervised: boolean;
  /** The user trusts exit code 0, also of a pod that was being deleted. */
  readonly trustsExitZero: boolean;
  /** The node of the pod does not report. */
  readonly isNodeLost: boolean;
  /** The node of the pod has reported a fault since the pod was created. */
  readonly isNodeFaulty: boolean;
}

/**
 * What the end of a pod means. `class` is the column of the table of actions:
 *
 * - `running`: it has not ended;
 * - `finished`: its work is done;
 * - `interrupted`: the program did not cause it;
 * - `doubtful`: probably interrupted, but nothing proves it; believed a few times only;
 * - `retry-later`: the supervisor asks for another try later (5, 75);
 * - `unusable`: the supervisor says that no retry can help (64, 65, 126, 127);
 * - `error-low`, `error-high`: an exit code of 1 to 127, or of 128 and more;
 * - `error`: an error without an exit code.
 */
export type EndClass =
  | 'running'
  | 'finished'
  | 'interrupted'
  | 'doubtful'
  | 'retry-later'
  | 'unusable'
  | 'error-low'
  | 'error-high'
  | 'error';

/** The end of a pod, with its cause in the catalogue that `why` uses. */
export interface PodEnd {
  readonly class: EndClass;
  readonly cause: EndCause;
  readonly exitCode: number | null;
}

const RETRY_LATER: ReadonlySet<number> = new Set([5, 75]);
const UNUSABLE: ReadonlySet<number> = new Set([64, 65, 126, 127]);
const SIGTERM_EXIT = 143;
const FIRST_RETRYABLE = 128;
/** Kubernetes writes times in whole seconds. */
const SECOND = 1000;

/** Decides what the state of a pod means for its attempt. */
export function judgePod(facts: PodFacts): PodEnd {
  const exitCode = facts.ended?.exitCode ?? null;
  const interrupted = (cause: EndCause): PodEnd => ({ class: 'interrupted', cause, exitCode });
  if (facts.isGone) return interrupted(facts.isNodeLost ? 'NODE_LOST' : 'POD_DELETED');
  if (hasSucceeded(facts)) {
    const isDone = facts.trustsExitZero || saysFinished(facts) || !wasAskedFirst(facts);
    return isDone ? { class: 'finished', cause: 'FINISHED', exitCode } : interrupted(interruptionOf(facts));
  }
  if (facts.isNodeLost) return interrupted('NODE_LOST');
  if (hasFailed(facts)) return wasAskedFirst(facts) ? interrupted(interruptionOf(facts)) : judgeFailure(facts);
  const cause = causeOfComingEnd(facts);
  return cause === null ? RUNNING : interrupted(cause);
}

/** Why a pod that has not ended is about to; null: it is not. */
function causeOfComingEnd(facts: PodFacts): EndCause | null {
  if (isAsked(facts)) return interruptionOf(facts);
  return facts.isNodeFaulty ? 'NODE_FAULTY' : null;
}

const RUNNING: PodEnd = { class: 'running', cause: 'STILL_RUNNING', exitCode: null };

/** The training container exited with 0, whether or not a sidecar lives on. */
function hasSucceeded({ phase, ended }: PodFacts): boolean {
  return ended === null ? phase === 'Succeeded' : ended.exitCode === 0;
}

function hasFailed({ phase, ended }: PodFacts): boolean {
  return phase === 'Failed' || (ended !== null && ended.exitCode !== 0);
}

function isAsked({ deletedMs, disruption }: PodFacts): boolean {
  return deletedMs !== null || disruption !== null;
}

/** A pod that failed, and that nothing outside is known to have asked to end. */
function judgeFailure(facts: PodFacts): PodEnd {
  const { ended } = facts;
  const known = causeInWords(facts.message);
  // The limits of a manifest count as errors, and so does a pod that its kubelet rejected.
  if (known !== null && END_CAUSES[known].family !== 'interruption') return error(known, ended?.exitCode ?? null);
  if (ended === null) return judgeWithoutExit(facts, known);
  if (ended.reason === 'OOMKilled') return error('OUT_OF_MEMORY', ended.exitCode);
  if (ended.reason === 'ContainerStatusUnknown') return { class: 'doubtful', cause: 'CANNOT_TELL', exitCode: ended.exitCode };
  return ended.exitCode === SIGTERM_EXIT ? judgeSigterm(facts) : judgeExit(ended.exitCode, facts);
}

/**
 * Exit code 143: only the notice of a supervisor proves that nobody but the program is to blame.
 */
function judgeSigterm({ told }: PodFacts): PodEnd {
  const isNoticed = told !== null && told.cause !== null && (told.provisional || told.end === 'interrupted');
  if (!isNoticed) return { class: 'doubtful', cause: 'CANNOT_TELL', exitCode: SIGTERM_EXIT };
  const cause = causeOfNotice(told.cause) ?? 'POD_DELETED';
  return END_CAUSES[cause].family === 'limit' ? error(cause, SIGTERM_EXIT) : { class: 'interrupted', cause, exitCode: SIGTERM_EXIT };
}

function judgeExit(exitCode: number, { isSupervised }: PodFacts): PodEnd {
  if (isSupervised && RETRY_LATER.has(exitCode)) return { class: 'retry-later', cause: 'SUPERVISOR_REFUSED', exitCode };
  if (isSupervised && UNUSABLE.has(exitCode)) return { class: 'unusable', cause: 'SUPERVISOR_REFUSED', exitCode };
  return error(causeOfExit(exitCode), exitCode);
}

function judgeWithoutExit({ reason, disruption }: PodFacts, known: EndCause | null): PodEnd {
  if (isRejection(reason)) return error('POD_REJECTED', null);
  if (reason === 'NodeLost') return { class: 'interrupted', cause: 'NODE_LOST', exitCode: null };
  if (reason === 'DeadlineExceeded') return error('JOB_DEADLINE', null);
  if (known !== null && disruption !== null) return { class: 'interrupted', cause: known, exitCode: null };
  // Evicted before any container started, without the condition: the kubelet refused it.
  if (reason === 'Evicted') return error('POD_REJECTED', null);
  return { class: 'doubtful', cause: 'CANNOT_TELL', exitCode: null };
}

function error(cause: EndCause, exitCode: number | null): PodEnd {
  if (exitCode === null) return { class: 'error', cause, exitCode };
  return { class: exitCode < FIRST_RETRYABLE ? 'error-low' : 'error-high', cause, exitCode };
}

/**
 * Signals that a program raises itself: SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS.
 */
const CRASHES: ReadonlySet<number> = new Set([132, 133, 134, 135, 136, 139, 159]);

function causeOfExit(exitCode: number): EndCause {
  if (exitCode === 126 || exitCode === 127) return 'CONTAINER_NOT_STARTED';
  return CRASHES.has(exitCode) ? 'TRAINER_CRASHED' : 'TRAINER_FAILED';
}

function saysFinished({ told }: PodFacts): boolean {
  return told !== null && !told.provisional && told.end === 'finished';
}

/**
 * Whether the pod was asked to end before its training container ended. An owner, a clean-up or a
 * person may delete a pod long after its end. Times of one second count as asked first, because
 * Kubernetes cuts the fractions off.
 */
function wasAskedFirst({ deletedMs, disruption, ended }: PodFacts): boolean {
  const endMs = ended?.finishedMs ?? null;
  const isFirst = (ms: number | null): boolean => ms === null || endMs === null || Math.floor(ms / SECOND) <= Math.floor(endMs / SECOND);
  return (deletedMs !== null && isFirst(deletedMs)) || (disruption !== null && isFirst(disruption.sinceMs));
}

function interruptionOf(facts: PodFacts): EndCause {
  const { disruption, isNodeLost, told } = facts;
  if (isNodeLost) return 'NODE_LOST';
  if (disruption === null) return causeOfNotice(told?.cause ?? null) ?? 'POD_DELETED';
  if (isOutOfService(disruption.message)) return 'NODE_LOST';
  return causeOfDisruption(disruption.reason) ?? causeByKubelet(facts);
}

function causeByKubelet({ disruption, message, reason }: PodFacts): EndCause {
  const told = causeInWords(disruption?.message ?? null) ?? causeInWords(message);
  if (told !== null) return told;
  if (reason === 'Terminated') return 'MACHINE_SHUTDOWN';
  return reason === 'Preempting' ? 'CRITICAL_POD' : 'NODE_PRESSURE';
}
