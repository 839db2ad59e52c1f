import type { OnRetry } from './retry.ts';

/** A failure that passes at once is nothing to tell of. */
const QUIET_TRIES = 1;

/** Tells a person once that a store makes them wait. The sentence has no end mark. */
export function tellRetries(url: string, tell: (sentence: string) => void): OnRetry {
  let isTold = false;
  return ({ message }, tries, most) => {
    if (isTold || tries <= QUIET_TRIES) return;
    isTold = true;
    tell(`${url}: ${message}; it is tried again, ${most} times in all`);
  };
}
