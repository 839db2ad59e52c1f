import type { Rng } from '../../core/rng.ts';

const FIRST_MS = 1000;
const LONGEST_MS = 5 * 60_000;

/**
 * The wait of an item after its nth failed try: 1 s, 2 s, 4 s … up to 5 minutes. It varies by a
 * fifth in both directions, so that items that failed together do not return together.
 */
export function backOffMs(failedTries: number, rng: Rng): number {
  const exact = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(30, Math.max(0, failedTries - 1)));
  return Math.round(exact * (0.8 + 0.4 * rng.next()));
}

/** The longest back-off. A longer one, after a clock jump, is cut to this. */
export const LONGEST_BACK_OFF_MS = LONGEST_MS * 1.2;
