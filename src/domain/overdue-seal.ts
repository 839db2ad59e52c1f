import { formatDuration } from '../core/duration.ts';
import type { Prediction } from './prediction.ts';

/** A save that was handed over and still waits for the disk. */
export interface SealInFlight {
  readonly step: number;
  /** Sealing it, or freeing what it makes superfluous. */
  readonly kind: 'sealing' | 'tidying';
  readonly tookMs: number;
  /** Since something of it was last seen to move. */
  readonly quietMs: number;
  /** What sealing it was predicted to take; null: none was ever measured. */
  readonly predicted: Pick<Prediction, 'medianMs' | 'p95Ms'> | null;
}

export interface SealVerdict {
  readonly isOverdue: boolean;
  readonly step: number;
  readonly tookMs: number;
  /** From when on it is. */
  readonly limitMs: number;
  readonly sentence: string;
}

/** One in twenty takes longer than its P95, and a disk that is disturbed several times that; this many times it is another matter. */
const MULTIPLE = 5;
/** However quick seals are, nothing shorter is worth a word; nor is a disk that has taken a byte since. */
const LEAST_MS = 30_000;
/** Where nothing was measured: so long without a byte. */
const UNMEASURED_MS = 10 * 60_000;

/** Whether the disk takes so much longer for a save than it was predicted to that somebody should look at it. */
export function judgeSeal({ step, kind, tookMs, quietMs, predicted }: SealInFlight): SealVerdict {
  if (kind === 'tidying' || predicted === null) {
    const what = kind === 'tidying' ? `freeing what step ${step} makes superfluous` : `sealing step ${step}`;
    const sentence = `${what} has taken ${formatDuration(tookMs)} so far, the last ${formatDuration(quietMs)} of it without a byte`;
    return { isOverdue: quietMs > UNMEASURED_MS, step, tookMs, limitMs: UNMEASURED_MS, sentence };
  }
  const { medianMs, p95Ms } = predicted;
  const limitMs = Math.max(LEAST_MS, MULTIPLE * p95Ms);
  const expected = `${formatDuration(medianMs)} were predicted, and ${formatDuration(p95Ms)} at most`;
  const sentence = `sealing step ${step} has taken ${formatDuration(tookMs)} so far, where ${expected}`;
  // A disk that takes byte after byte answers, however slow it is.
  return { isOverdue: tookMs > limitMs && quietMs > LEAST_MS, step, tookMs, limitMs, sentence };
}
