import { formatDuration } from '../core/duration.ts';

/** What steps have taught about the trainer's pace. Instants are of a monotonic clock. */
export interface Pace {
  /** Times of the last steps, oldest first. */
  readonly stepsMs: readonly number[];
  readonly lastStep: number | null;
  readonly lastProgressMs: number;
  /** The trainer said that it does something long (evaluation, compilation) and has not come back. */
  readonly busySinceMs: number | null;
}

export interface HangRules {
  /** No progress for this many usual steps is a hang. */
  readonly multiple: number;
  /** However quick the steps are, nothing shorter is one. */
  readonly leastMs: number;
}

const DEFAULT_HANG_RULES: HangRules = { multiple: 20, leastMs: 5 * 60_000 };

export interface HangVerdict {
  readonly isHung: boolean;
  readonly quietMs: number;
  /** From which quiet time on it is a hang; null while that cannot be judged. */
  readonly limitMs: number | null;
  readonly sentence: string;
}

const REMEMBERED = 64;
/** The first steps compile, allocate and fill caches: a pace is known only after some. */
const ENOUGH_STEPS = 3;

/** The pace of a trainer that has just started. */
export function makePace(nowMs: number): Pace {
  return { stepsMs: [], lastStep: null, lastProgressMs: nowMs, busySinceMs: null };
}

/** Learns from a step that was reported. Several steps reported at once share the time; a repeated one is only a sign of life. */
export function observeStep(pace: Pace, step: number, nowMs: number): Pace {
  const { lastStep, lastProgressMs, stepsMs, busySinceMs } = pace;
  const steps = lastStep === null ? 0 : step - lastStep;
  // The first report, and a time in which the trainer was busy with something else, say nothing about a step.
  const each = steps > 0 && busySinceMs === null ? Math.max(0, nowMs - lastProgressMs) / steps : null;
  return {
    stepsMs: each === null ? stepsMs : [...stepsMs, each].slice(-REMEMBERED),
    lastStep: step,
    lastProgressMs: nowMs,
    busySinceMs: null,
  };
}

/** The trainer says that it is busy, or that it is back. Either is a sign of life, and the clock starts again. */
export function observeBusy(pace: Pace, isBusy: boolean, nowMs: number): Pace {
  return { ...pace, busySinceMs: isBusy ? nowMs : null, lastProgressMs: nowMs };
}

/** The usual time of a step: the slow ones of the last, so that a regular slow step is no hang. Null before a pace is known. */
export function usualStepMs({ stepsMs }: Pace): number | null {
  if (stepsMs.length < ENOUGH_STEPS) return null;
  const sorted = stepsMs.toSorted((a, b) => a - b);
  return sorted[Math.ceil(0.95 * sorted.length) - 1] ?? null;
}

export function judgeHang(pace: Pace, nowMs: number, rules: HangRules = DEFAULT_HANG_RULES): HangVerdict {
  const quietMs = Math.max(0, nowMs - pace.lastProgressMs);
  const usual = usualStepMs(pace);
  if (pace.busySinceMs !== null) return fine(quietMs, `busy for ${formatDuration(Math.max(0, nowMs - pace.busySinceMs))}`);
  if (usual === null) return fine(quietMs, 'too few steps to know the pace');
  const limitMs = Math.max(rules.leastMs, rules.multiple * usual);
  const isHung = quietMs > limitMs;
  const sentence = isHung
    ? `no step for ${formatDuration(quietMs)}, where one usually takes ${formatDuration(usual)}`
    : `last step ${formatDuration(quietMs)} ago`;
  return { isHung, quietMs, limitMs, sentence };
}

function fine(quietMs: number, sentence: string): HangVerdict {
  return { isHung: false, quietMs, limitMs: null, sentence };
}
