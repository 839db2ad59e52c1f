import { formatDuration } from '../../core/duration.ts';
import type { Prediction } from './prediction.ts';

/** A save that is complete but not yet durable. */
export interface StagedSave {
  readonly step: number;
  /** How long it takes to seal it. */
  readonly seal: Prediction;
}

/** The facts for the decision. Times are milliseconds; instants since 1970. */
export interface FlushFacts {
  readonly nowMs: number;
  readonly deadlineMs: number;
  /** How sure the deadline is. When it is a guess, the cheap action comes first. */
  readonly confidence: 'known' | 'guess';
  /**
   * The current step, and the newest step that a new attempt could resume from without a flush
   * (null: none).
   */
  readonly step: number | null;
  readonly lastGoodStep: number | null;
  /** Work since the last good checkpoint, in wall time of the attempt. */
  readonly unsavedMs: number;
  /** Time until the current step ends; null: unknown. */
  readonly stepRest: Prediction | null;
  /**
   * How long the trainer has been busy without steps, as in an evaluation. Its end is unknown.
   * Null: the trainer computes steps.
   */
  readonly busyMs: number | null;
  /** Time for the trainer to write its state; null: never measured. */
  readonly save: Prediction | null;
  /** Time for checksums, syncs and commit; null: never measured. */
  readonly seal: Prediction | null;
  /** Longest wait until the ranks of all nodes agree on a step; 0 for one rank. */
  readonly agreementMs: number;
  readonly staged: StagedSave | null;
  /** Why a flush is impossible (no SDK attached, no room, a full disk), or null. */
  readonly refusal: string | null;
}

/** The inputs of the decision, as they go to the ledger. */
export interface FlushNumbers {
  readonly leftMs: number;
  readonly stepRestMs: number;
  readonly agreementMs: number;
  readonly saveMs: number;
  readonly sealMs: number;
  /** Time reserved to end the trainer and to report the outcome. */
  readonly reserveMs: number;
  /**
   * The time that a flush needs: the sum of all parts but the first, each at its careful estimate.
   */
  readonly needMs: number;
  /** The usual time of a flush: the sum of the medians, without the reserve. */
  readonly medianMs: number;
  /** The time to seal the staged save; null: nothing is staged. */
  readonly sealStagedMs: number | null;
  readonly unsavedMs: number;
  /**
   * True when every part was measured. False for an attempt without measurements: the first flush,
   * or one of a busy trainer.
   */
  readonly measured: boolean;
}

/** The action for the remaining time. After `seal-staged`, decide again: a flush may still fit. */
export interface FlushDecision {
  readonly outcome: 'flush' | 'seal-staged' | 'keep-last-good';
  readonly numbers: FlushNumbers;
  /** The instant at which a running flush must be abandoned. */
  readonly abandonAtMs: number;
  readonly sentence: string;
}

/** The time reserved at the end of the grace. */
export const RESERVE_MS = 400;
/**
 * The quantile used for each part: this far from the median towards the P95, in logarithms; about
 * the P85. A simulation covered graces of 0.3 to 10 times the need, on steady and on disturbed
 * disks. With this value, 0 to 1.6 of 200 flushes miss, and 90 to 99 % of the possible ones are
 * made. The P95 makes as few as 80 %; with the P75, too many miss.
 */
const CAREFUL = 0.63;
/**
 * With at least this much time, an unmeasured flush is tried. It harms nothing, and its time is
 * known afterwards.
 */
const FIRST_TRY_MS = 1500;

/** Decides how to use the remaining seconds. */
export function decideFlush(facts: FlushFacts): FlushDecision {
  const numbers = numbersOf(facts);
  const { leftMs, needMs, sealStagedMs } = numbers;
  const decide = (outcome: FlushDecision['outcome'], sentence: string): FlushDecision => ({
    outcome,
    numbers,
    abandonAtMs: facts.deadlineMs - RESERVE_MS,
    sentence,
  });
  const canSeal = sealStagedMs !== null && sealStagedMs <= leftMs;
  const flushFits = facts.refusal === null && leftMs >= (isTimed(facts) ? needMs : Math.max(FIRST_TRY_MS, needMs));
  // Both fit, or the deadline is only a guess: the nearly finished save comes first.
  if (canSeal && (facts.confidence === 'guess' || !flushFits || (sealStagedMs ?? 0) + needMs <= leftMs)) {
    return decide('seal-staged', sealSentence(facts, numbers, flushFits));
  }
  if (flushFits) return decide('flush', flushSentence(facts, numbers));
  return decide('keep-last-good', keepSentence(facts, numbers));
}

/** The state of a busy trainer that has been asked for a save and has started none yet. */
type BusyWait = Pick<FlushFacts, 'nowMs' | 'deadlineMs' | 'save' | 'seal'> & { readonly busyMs: number };

/**
 * Why the supervisor stops waiting for a busy trainer, or null to wait on. When even a save of the
 * usual length would not fit, the trainer gets its signal at once. Otherwise it would get it a
 * moment before the kill.
 */
export function decideBusy({ nowMs, deadlineMs, busyMs, save, seal }: BusyWait): string | null {
  if (save === null || seal === null) return null;
  const needMs = save.medianMs + seal.medianMs + RESERVE_MS;
  const leftMs = deadlineMs - nowMs;
  if (needMs <= leftMs) return null;
  const left = `a save usually needs ${formatDuration(needMs)} and ${formatDuration(Math.max(0, leftMs))} are left`;
  return `gave the flush up: the trainer has been busy without steps for ${formatDuration(busyMs)}, ${left}`;
}

/** The progress of a running flush. */
export interface FlushProgress {
  readonly nowMs: number;
  readonly deadlineMs: number;
  readonly startedMs: number;
  readonly bytesDone: number;
  readonly bytesTotal: number;
  /** The time after the last byte (syncs, commit), at its P95. */
  readonly afterMs: number;
}

/** Whether to abandon a running flush, and why. */
export interface AbandonDecision {
  readonly abandon: boolean;
  readonly leftMs: number;
  /** The remaining time at the speed so far; null while too few bytes were seen. */
  readonly remainingMs: number | null;
  readonly sentence: string;
}

/** The first moments do not show the speed of a disk. */
const SPEED_AFTER_MS = 1000;
/**
 * Speeds waver, so the flush is abandoned only when it needs clearly more than the remaining time.
 */
const CLEARLY = 1.25;

/**
 * Decides whether to abandon a running flush. It ends at the latest when only the reserve is left,
 * and earlier when its speed is too low. Abandoning keeps every sealed checkpoint. Without it the
 * kill would leave no report.
 */
export function decideAbandon(progress: FlushProgress): AbandonDecision {
  const { nowMs, deadlineMs, startedMs, bytesDone, bytesTotal, afterMs } = progress;
  const leftMs = deadlineMs - RESERVE_MS - nowMs;
  const runMs = nowMs - startedMs;
  const remainingMs = runMs < SPEED_AFTER_MS || bytesDone <= 0 ? null : (runMs * Math.max(0, bytesTotal - bytesDone)) / bytesDone + afterMs;
  const share = bytesTotal > 0 ? Math.floor((100 * Math.min(bytesDone, bytesTotal)) / bytesTotal) : 0;
  const made = `${share} % written in ${formatDuration(Math.max(0, runMs))}`;
  if (leftMs <= 0) return { abandon: true, leftMs, remainingMs, sentence: `gave the flush up at the deadline: ${made}` };
  if (remainingMs !== null && remainingMs > leftMs * CLEARLY) {
    const sentence = `gave the flush up: ${made}, the rest needs ${formatDuration(remainingMs)} and ${formatDuration(leftMs)} are left`;
    return { abandon: true, leftMs, remainingMs, sentence };
  }
  return { abandon: false, leftMs, remainingMs, sentence: `the flush goes on: ${made}, ${formatDuration(leftMs)} left` };
}

/** A save was timed here. */
function isTimed({ save, seal }: FlushFacts): boolean {
  return save !== null && seal !== null;
}

function numbersOf(facts: FlushFacts): FlushNumbers {
  const { nowMs, deadlineMs, busyMs, save, seal, agreementMs, staged, unsavedMs } = facts;
  // The usual time of a step does not predict an evaluation.
  const stepRest = busyMs === null ? facts.stepRest : null;
  const [stepRestMs = 0, saveMs = 0, sealMs = 0] = [stepRest, save, seal].map(careful);
  const medians = [stepRest, save, seal].reduce((sum, part) => sum + (part?.medianMs ?? 0), 0);
  return {
    leftMs: Math.max(0, deadlineMs - nowMs),
    stepRestMs,
    agreementMs,
    saveMs,
    sealMs,
    reserveMs: RESERVE_MS,
    needMs: stepRestMs + agreementMs + saveMs + sealMs + RESERVE_MS,
    medianMs: medians + agreementMs,
    sealStagedMs: staged === null ? null : careful(staged.seal) + RESERVE_MS,
    unsavedMs,
    measured: isTimed(facts) && busyMs === null,
  };
}

/** The estimated time of a part; 0 when it was never measured. */
function careful(part: Prediction | null): number {
  if (part === null || part.medianMs <= 0) return part?.p95Ms ?? 0;
  return part.medianMs * (part.p95Ms / part.medianMs) ** CAREFUL;
}

function needs({ needMs, leftMs }: FlushNumbers): string {
  return `a flush needs ${formatDuration(needMs)} and ${formatDuration(leftMs)} are left`;
}

function flushSentence(facts: FlushFacts, numbers: FlushNumbers): string {
  const left = `and ${formatDuration(numbers.leftMs)} are left`;
  if (!isTimed(facts)) return `flush as a first try: no save was timed yet${busy(facts)}, ${left}`;
  if (facts.busyMs !== null)
    return `flush as a try: it needs ${formatDuration(numbers.needMs)} from the next step on${busy(facts)}, ${left}`;
  return `flush: it needs ${formatDuration(numbers.needMs)} (usually ${formatDuration(numbers.medianMs)}) ${left}`;
}

function busy({ busyMs }: FlushFacts): string {
  return busyMs === null ? '' : `, the trainer has been busy without steps for ${formatDuration(busyMs)}`;
}

function sealSentence({ staged, confidence, refusal }: FlushFacts, numbers: FlushNumbers, flushFits: boolean): string {
  const start = `seal the staged step ${staged?.step ?? ''} in ${formatDuration(numbers.sealStagedMs ?? 0)}`;
  if (refusal !== null) return `${start}; no flush: ${refusal}`;
  if (!flushFits) return `${start}; no flush: ${needs(numbers)}`;
  return `${start}, then flush${confidence === 'guess' ? '; the deadline is a guess, so the nearly finished save comes first' : ''}`;
}

function keepSentence(facts: FlushFacts, numbers: FlushNumbers): string {
  const { refusal, lastGoodStep, unsavedMs, staged } = facts;
  const why =
    refusal ?? (isTimed(facts) ? needs(numbers) : `no save was timed yet, and ${formatDuration(numbers.leftMs)} are too short to try`);
  const left = staged === null ? '' : `; the staged step ${staged.step} cannot be sealed in time either`;
  const kept = lastGoodStep === null ? 'nothing is sealed yet' : `the last good stays step ${lastGoodStep}`;
  return `no flush: ${why}${left}; ${kept}, ${formatDuration(unsavedMs)} of work are lost`;
}
