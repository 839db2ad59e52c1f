import { formatDuration } from '../core/duration.ts';
import type { Prediction } from './prediction.ts';

/** A save that is complete but not yet durable. */
export interface StagedSave {
  readonly step: number;
  /** How long it takes to seal it. */
  readonly seal: Prediction;
}

/** Everything the decision looks at. Times are milliseconds; instants since 1970. */
export interface FlushFacts {
  readonly nowMs: number;
  readonly deadlineMs: number;
  /** How sure the deadline is: when it is a guess, the cheap thing comes first. */
  readonly confidence: 'known' | 'guess';
  /** The step the trainer is in, and the newest one that a new attempt could resume from without a flush (null: none). */
  readonly step: number | null;
  readonly lastGoodStep: number | null;
  /** Work since the last good, in wall time of the attempt. */
  readonly unsavedMs: number;
  /** How long until the step that is being computed ends; null: nobody knows. */
  readonly stepRest: Prediction | null;
  /** How long the trainer has been busy with something without steps, as an evaluation, which nobody knows the end of; null: it is not. */
  readonly busyMs: number | null;
  /** The trainer writing its state; null: never measured. */
  readonly save: Prediction | null;
  /** Checksums, syncs and commit of what was written; null: never measured. */
  readonly seal: Prediction | null;
  /** Longest wait until all ranks, of all nodes, have agreed on a step; 0 for one rank. */
  readonly agreementMs: number;
  readonly staged: StagedSave | null;
  /** Why a flush is out of the question (no SDK attached, no room, a full disk), or null. */
  readonly refusal: string | null;
}

/** What the decision was made from, as it goes to the ledger. */
export interface FlushNumbers {
  readonly leftMs: number;
  readonly stepRestMs: number;
  readonly agreementMs: number;
  readonly saveMs: number;
  readonly sealMs: number;
  /** Kept back for ending the trainer and telling what happened. */
  readonly reserveMs: number;
  /** The sum of the above but the first: what a flush needs, each part at the careful end of what was measured. */
  readonly needMs: number;
  /** How long a flush usually takes: the sum of the medians, without the reserve. */
  readonly medianMs: number;
  /** What sealing the staged save needs; null: nothing is staged. */
  readonly sealStagedMs: number | null;
  readonly unsavedMs: number;
  /** Whether all of it was measured, or the flush is a try: the first, or of a trainer that is busy. */
  readonly measured: boolean;
}

/** What to do with the time that is left. After `seal-staged`, ask again: what is left may do for a flush. */
export interface FlushDecision {
  readonly outcome: 'flush' | 'seal-staged' | 'keep-last-good';
  readonly numbers: FlushNumbers;
  /** When a flush that runs has to be given up. */
  readonly abandonAtMs: number;
  readonly sentence: string;
}

/** Kept back at the end of the grace. */
export const RESERVE_MS = 400;
/**
 * How far from the median towards the P95 (as logarithms) a part is taken: about the P85. Simulated with graces of 0.3 to 10 times the need, on
 * disks from steady to disturbed for minutes, this starts 0 to 1.6 flushes of 200 that miss, and makes 90 to 99 % of those that were
 * possible; the P95 itself makes as few as 80 %, the P75 starts more that miss than are worth it.
 */
const CAREFUL = 0.63;
/** A flush that nobody has ever timed is tried when there is at least this much time: it harms nothing, and what it takes is known afterwards. */
const FIRST_TRY_MS = 1500;

/** Decides what becomes of the seconds that are left. */
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
  // Both fit, or the deadline is only a guess: what is nearly done is done first.
  if (canSeal && (facts.confidence === 'guess' || !flushFits || (sealStagedMs ?? 0) + needMs <= leftMs)) {
    return decide('seal-staged', sealSentence(facts, numbers, flushFits));
  }
  if (flushFits) return decide('flush', flushSentence(facts, numbers));
  return decide('keep-last-good', keepSentence(facts, numbers));
}

/** What is known of a busy trainer that was asked for a save and has begun none yet. */
type BusyWait = Pick<FlushFacts, 'nowMs' | 'deadlineMs' | 'save' | 'seal'> & { readonly busyMs: number };

/**
 * Why a busy trainer is not waited for any longer, or null: when even a save of the usual length would not end in time, it hears of its end at once
 * instead of a moment before it is killed.
 */
export function decideBusy({ nowMs, deadlineMs, busyMs, save, seal }: BusyWait): string | null {
  if (save === null || seal === null) return null;
  const needMs = save.medianMs + seal.medianMs + RESERVE_MS;
  const leftMs = deadlineMs - nowMs;
  if (needMs <= leftMs) return null;
  const left = `a save usually needs ${formatDuration(needMs)} and ${formatDuration(Math.max(0, leftMs))} are left`;
  return `gave the flush up: the trainer has been busy without steps for ${formatDuration(busyMs)}, ${left}`;
}

/** How a flush that runs is doing. */
export interface FlushProgress {
  readonly nowMs: number;
  readonly deadlineMs: number;
  readonly startedMs: number;
  readonly bytesDone: number;
  readonly bytesTotal: number;
  /** What comes after the bytes (syncs, commit), at its P95. */
  readonly afterMs: number;
}

export interface AbandonDecision {
  readonly abandon: boolean;
  readonly leftMs: number;
  /** At the speed seen so far; null while too little was seen to tell. */
  readonly remainingMs: number | null;
  readonly sentence: string;
}

/** The first moments say nothing about the speed of a disk. */
const SPEED_AFTER_MS = 1000;
/** Given up only when it would need clearly more than there is: speeds waver. */
const CLEARLY = 1.25;

/**
 * Whether a flush that runs has to be given up: at the latest when only the reserve is left, and earlier when at the speed seen so far it
 * cannot end in time. Giving up harms nothing that is sealed; going on would let the kill decide what is told.
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
  // What a step usually takes says nothing about an evaluation.
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

/** How long a part is taken to take; nothing where it was never measured. */
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
  return `${start}, then flush${confidence === 'guess' ? '; the deadline is a guess, so what is nearly done comes first' : ''}`;
}

function keepSentence(facts: FlushFacts, numbers: FlushNumbers): string {
  const { refusal, lastGoodStep, unsavedMs, staged } = facts;
  const why =
    refusal ?? (isTimed(facts) ? needs(numbers) : `no save was timed yet, and ${formatDuration(numbers.leftMs)} are too short to try`);
  const left = staged === null ? '' : `; the staged step ${staged.step} cannot be sealed in time either`;
  const kept = lastGoodStep === null ? 'nothing is sealed yet' : `the last good stays step ${lastGoodStep}`;
  return `no flush: ${why}${left}; ${kept}, ${formatDuration(unsavedMs)} of work are lost`;
}
