import type { SealPhases } from './sealing/seal-messages.ts';

/** The time of each phase of a save. */
export interface SaveTimings {
  readonly step: number;
  readonly bytes: number;
  /**
   * The time of the slowest rank from getting the folder to handing over. It excludes waits for
   * other ranks and work before the write.
   */
  readonly writeMs: number;
  /** How long the slowest rank stood still: the whole write, unless the ranks report less. */
  readonly stallMs: number;
  /** The time from the hand-over to the seal; the trainer continues meanwhile. */
  readonly sealMs: number;
  readonly phases: SealPhases;
}

/** The timings of the ranks that have handed over. */
export type Written = Pick<SaveTimings, 'writeMs' | 'stallMs'>;

/** The times before any rank has written. */
export const UNWRITTEN: Written = { writeMs: 0, stallMs: 0 };

/** What a rank reports about its part of a save. */
export interface OwnTimes {
  /** How long the rank stood still; null: until it handed over. */
  readonly stallMs: number | null;
  /** How long of that time it waited for other ranks. */
  readonly waitedMs: number;
  /** How long it had the folder before it began to write. */
  readonly betweenMs: number;
}

/** The report of a rank of which only the hand-over is known. */
export const UNTOLD: OwnTimes = { stallMs: null, waitedMs: 0, betweenMs: 0 };

/** Adds a rank that has had the folder for this long. */
export function withRank(written: Written, heldMs: number, own: OwnTimes): Written {
  const allMs = Math.max(0, heldMs - own.betweenMs);
  return {
    writeMs: Math.max(written.writeMs, allMs - Math.min(allMs, own.waitedMs)),
    stallMs: Math.max(written.stallMs, Math.min(allMs, own.stallMs ?? allMs)),
  };
}
