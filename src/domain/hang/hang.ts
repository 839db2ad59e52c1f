import { formatDuration, parseDuration } from '../../core/duration.ts';
import { type Parsed, parsed, refused } from '../../core/parsed.ts';
import { excerpt } from '../../core/printable.ts';

/** The trainer's pace, learnt from its steps. Instants are of a monotonic clock. */
export interface Pace {
  /** Times of the last steps, oldest first. */
  readonly stepsMs: readonly number[];
  readonly lastStep: number | null;
  readonly lastProgressMs: number;
  /**
   * The trainer, or one rank of it, has reported a long activity (evaluation, compilation) and has
   * not returned from it.
   */
  readonly busySinceMs: number | null;
}

/** The limits beyond which a silence is a hang. */
export interface HangRules {
  /** No progress for this many usual steps is a hang; 0: the pace does not matter. */
  readonly multiple: number;
  /** The shortest hang, however quick the steps are. */
  readonly leastMs: number;
  /**
   * The shortest hang before a pace is known (the first steps load data and compile), and during a
   * save.
   */
  readonly patientMs: number;
}

const PATIENT_MS = 60 * 60_000;
const DEFAULT_HANG_RULES: HangRules = { multiple: 20, leastMs: 5 * 60_000, patientMs: PATIENT_MS };

/** Reads the value of `--hang`; null: hangs are not detected. */
export function parseHangRules(text: string): Parsed<HangRules | null> {
  if (text === 'auto') return parsed(DEFAULT_HANG_RULES);
  if (text === 'off') return parsed(null);
  const limit = parseDuration(text);
  if (!limit.ok) return refused(`"${excerpt(text, 40)}" is not auto, off or a time such as 10m: ${limit.reason}`);
  if (limit.value <= 0) return refused('the time must be longer than zero');
  return parsed({ multiple: 0, leastMs: limit.value, patientMs: Math.max(limit.value, PATIENT_MS) });
}

/** Whether the trainer hangs, and since when it made no progress. */
export interface HangVerdict {
  readonly isHung: boolean;
  readonly quietMs: number;
  /** The silence that counts as a hang; null while the pace is unknown. */
  readonly limitMs: number | null;
  readonly sentence: string;
}

const REMEMBERED = 64;
/** The first steps compile, allocate and fill caches, so a pace needs several steps. */
const ENOUGH_STEPS = 3;

/** The pace of a trainer that has just started. */
export function makePace(nowMs: number): Pace {
  return { stepsMs: [], lastStep: null, lastProgressMs: nowMs, busySinceMs: null };
}

/**
 * Records a reported step. Several steps reported at once share the time; a repeated one is only a
 * sign of life.
 */
export function observeStep(pace: Pace, step: number, nowMs: number): Pace {
  const { lastStep, lastProgressMs, stepsMs, busySinceMs } = pace;
  const steps = lastStep === null ? 0 : step - lastStep;
  // The first report, and a step that includes a busy time, do not show the pace.
  const each = steps > 0 && busySinceMs === null ? Math.max(0, nowMs - lastProgressMs) / steps : null;
  return {
    stepsMs: each === null ? stepsMs : [...stepsMs, each].slice(-REMEMBERED),
    lastStep: step,
    lastProgressMs: nowMs,
    busySinceMs,
  };
}

/**
 * Records that the trainer is busy, or has returned. Either is a sign of life, and restarts the
 * clock.
 */
export function observeBusy(pace: Pace, isBusy: boolean, nowMs: number): Pace {
  return { ...pace, busySinceMs: isBusy ? (pace.busySinceMs ?? nowMs) : null, lastProgressMs: nowMs };
}

/**
 * The usual time of a step: the slow ones of the last steps, so that a regular slow step is no
 * hang. Null before a pace is known.
 */
export function usualStepMs({ stepsMs }: Pace): number | null {
  if (stepsMs.length < ENOUGH_STEPS) return null;
  const sorted = stepsMs.toSorted((a, b) => a - b);
  return sorted[Math.ceil(0.95 * sorted.length) - 1] ?? null;
}

/**
 * Decides whether the trainer hangs. `isSaving`: the trainer writes a checkpoint, and makes no
 * steps meanwhile.
 */
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

/**
 * The time that a trainer gets to end after it reported a finished run. It makes no more steps, and
 * may have much to upload.
 */
export function lingerLimitMs({ multiple, leastMs, patientMs }: HangRules): number {
  return multiple > 0 ? patientMs : leastMs;
}

function fine(quietMs: number, sentence: string): HangVerdict {
  return { isHung: false, quietMs, limitMs: null, sentence };
}
