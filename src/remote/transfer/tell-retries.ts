import type { OnRetry } from './retry.ts';

/** A failure that passes at once is not worth a note. */
const QUIET_TRIES = 1;

/** Reports once that a store makes the user wait. The sentence has no end mark. */
export function tellRetries(url: string, tell: (sentence: string) => void): OnRetry {
  let isTold = false;
  return ({ message }, tries, most) => {
    if (isTold || tries <= QUIET_TRIES) return;
    isTold = true;
    tell(`${url}: ${message}; Holdfast retries, ${most} times in all`);
  };
}
