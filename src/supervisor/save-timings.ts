import type { SealPhases } from './sealing/messages.ts';

/** How long each phase of a save took. */
export interface SaveTimings {
  readonly step: number;
  readonly bytes: number;
  /** From the folder's being given to the handing over, without what ranks waited for each other or did before they saved; of the slowest. */
  readonly writeMs: number;
  /** How long the trainer stood still for it: all the while, unless the ranks say otherwise; that of the slowest. */
  readonly stallMs: number;
  /** From then until it was sealed; the trainer goes on meanwhile. */
  readonly sealMs: number;
  readonly phases: SealPhases;
}

/** Of the ranks that have handed over. */
export type Written = Pick<SaveTimings, 'writeMs' | 'stallMs'>;

export const UNWRITTEN: Written = { writeMs: 0, stallMs: 0 };

/** What a rank says about its part of a save. */
export interface OwnTimes {
  /** How long it stood still for it; null: until it handed over. */
  readonly stallMs: number | null;
  /** How long of that it waited for other ranks. */
  readonly waitedMs: number;
  /** How long it had the folder and did something else, before it came to saving. */
  readonly betweenMs: number;
}

/** Nothing is known but when it handed over. */
export const UNTOLD: OwnTimes = { stallMs: null, waitedMs: 0, betweenMs: 0 };

/** With one more rank, which has had the folder for so long. */
export function withRank(written: Written, heldMs: number, own: OwnTimes): Written {
  const allMs = Math.max(0, heldMs - own.betweenMs);
  return {
    writeMs: Math.max(written.writeMs, allMs - Math.min(allMs, own.waitedMs)),
    stallMs: Math.max(written.stallMs, Math.min(allMs, own.stallMs ?? allMs)),
  };
}
