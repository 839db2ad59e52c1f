import { formatDuration, parseDuration } from '../core/duration.ts';
import { type Parsed, parsed, refused } from '../core/parsed.ts';
import { excerpt } from '../core/printable.ts';

/** What steps have taught about the trainer's pace. Instants are of a monotonic clock. */
export interface Pace {
  /** Times of the last steps, oldest first. */
  readonly stepsMs: readonly number[];
  readonly lastStep: number | null;
  readonly lastProgressMs: number;
  /** The trainer, or one rank of it, said that it does something long (evaluation, compilation) and has not come back. */
  readonly busySinceMs: number | null;
}

export interface HangRules {
  /** No progress for this many usual steps is a hang; 0: the pace does not matter. */
  readonly multiple: number;
  /** However quick the steps are, nothing shorter is one. */
  readonly leastMs: number;
  /** The same while no pace is known (the first steps load data and compile), and while a save is being written. */
  readonly patientMs: number;
}

const PATIENT_MS = 60 * 60_000;
const DEFAULT_HANG_RULES: HangRules = { multiple: 20, leastMs: 5 * 60_000, patientMs: PATIENT_MS };

/** Reads what a person says about hangs; null: they are not looked for. */
export function parseHangRules(text: string): Parsed<HangRules | null> {
  if (text === 'auto') return parsed(DEFAULT_HANG_RULES);
  if (text === 'off') return parsed(null);
  const limit = parseDuration(text);
  if (!limit.ok) return refused(`"${excerpt(text, 40)}" is not auto, off or a time such as 10m: ${limit.reason}`);
  if (limit.value <= 0) return refused('a hang takes longer than no time at all');
  return parsed({ multiple: 0, leastMs: limit.value, patientMs: Math.max(limit.value, PATIENT_MS) });
}

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
    busySinceMs,
  };
}

/** The trainer says that it is busy, or that it is back. Either is a sign of life, and the clock starts again. */
export function observeBusy(pace: Pace, isBusy: boolean, nowMs: number): Pace {
  return { ...pace, busySinceMs: isBusy ? (pace.busySinceMs ?? nowMs) : null, lastProgressMs: nowMs };
}

/** The usual time of a step: the slow ones of the last, so that a regular slow step is no hang. Null before a pace is known. */
export function usualStepMs({ stepsMs }: Pace): number | null {
  if (stepsMs.length < ENOUGH_STEPS) return null;
  const sorted = stepsMs.toSorted((a, b) => a - b);
  return sorted[Math.ceil(0.95 * sorted.length) - 1] ?? null;
}

/** `isSaving`: the trainer writes a checkpoint, and makes no steps meanwhile. */
export function judgeHang(pace: Pace, nowMs: number, rules: HangRules = DEFAULT_HANG_RULES, isSaving = false): HangVerdict {
  const quietMs = Math.max(0, nowMs - pace.lastProgressMs);
  if (pace.busySinceMs !== null) return fine(quietMs, `busy for ${formatDuration(Math.max(0, nowMs - pace.busySinceMs))}`);
  const usual = usualStepMs(pace);
  const limitMs = isSaving ? Math.max(rules.patientMs, limitOf(pace, usual, rules)) : limitOf(pace, usual, rules);
  const isHung = quietMs > limitMs;
  const pastPace = usual === null ? '' : `, where one usually takes ${formatDuration(usual)}`;
  const sentence = isHung
    ? `no step for ${formatDuration(quietMs)}${isSaving ? ' while a save is being written' : pastPace}`
    : `last step ${formatDuration(quietMs)} ago`;
  return { isHung, quietMs, limitMs, sentence };
}

function limitOf({ lastStep }: Pace, usual: number | null, { multiple, leastMs, patientMs }: HangRules): number {
  if (lastStep === null || (usual === null && multiple > 0)) return patientMs;
  return Math.max(leastMs, multiple * (usual ?? 0));
}

/** How long a trainer may take to end once it has said that the run is finished: it makes no steps any more, and may have much to upload. */
export function lingerLimitMs({ multiple, leastMs, patientMs }: HangRules): number {
  return multiple > 0 ? patientMs : leastMs;
}

function fine(quietMs: number, sentence: string): HangVerdict {
  return { isHung: false, quietMs, limitMs: null, sentence };
}
