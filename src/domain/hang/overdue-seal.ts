import { formatDuration } from '../../core/duration.ts';
import type { Prediction } from '../grace/prediction.ts';

/** A save that the trainer handed over and that still waits for the disk. */
export interface SealInFlight {
  readonly step: number;
  /** The current work: sealing it, or freeing the saves that it replaces. */
  readonly kind: 'sealing' | 'tidying';
  readonly tookMs: number;
  /** The time since its last progress. */
  readonly quietMs: number;
  /** The predicted duration of the seal; null: none was ever measured. */
  readonly predicted: Pick<Prediction, 'medianMs' | 'p95Ms'> | null;
}

/** Whether a seal is overdue, and from which time on. */
export interface SealVerdict {
  readonly isOverdue: boolean;
  readonly step: number;
  readonly tookMs: number;
  /** The time after which it is overdue. */
  readonly limitMs: number;
  readonly sentence: string;
}

/**
 * One seal in twenty exceeds its P95, and a disturbed disk exceeds it several times. This multiple
 * points to a fault.
 */
const MULTIPLE = 5;
/** A shorter wait is not worth a warning, nor is a disk that took a byte within this time. */
const LEAST_MS = 30_000;
/** Without a measurement: the time without a byte that counts as overdue. */
const UNMEASURED_MS = 10 * 60_000;

/** Decides whether the disk is so much slower than predicted that the user should look at it. */
export function judgeSeal({ step, kind, tookMs, quietMs, predicted }: SealInFlight): SealVerdict {
  if (kind === 'tidying' || predicted === null) {
    const what = kind === 'tidying' ? `deleting what step ${step} replaced` : `sealing step ${step}`;
    const sentence = `${what} has taken ${formatDuration(tookMs)} so far, the last ${formatDuration(quietMs)} of it without a byte`;
    return { isOverdue: quietMs > UNMEASURED_MS, step, tookMs, limitMs: UNMEASURED_MS, sentence };
  }
  const { medianMs, p95Ms } = predicted;
  const limitMs = Math.max(LEAST_MS, MULTIPLE * p95Ms);
  const expected = `${formatDuration(medianMs)} were predicted, and ${formatDuration(p95Ms)} at most`;
  const sentence = `sealing step ${step} has taken ${formatDuration(tookMs)} so far, where ${expected}`;
  // A disk that still takes bytes is alive, however slow it is.
  return { isOverdue: tookMs > limitMs && quietMs > LEAST_MS, step, tookMs, limitMs, sentence };
}
