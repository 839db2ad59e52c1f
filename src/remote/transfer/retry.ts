import type { Clock } from '../../core/clock.ts';
import type { Rng } from '../../core/rng.ts';
import type { Redactor } from '../../core/secrets.ts';
import { RequestFailure } from './failure.ts';

/** How often and how patiently a request is retried. */
export interface RetryPolicy {
  /** Tries in all. */
  readonly attempts: number;
  readonly firstDelayMs: number;
  readonly longestDelayMs: number;
}

/**
 * Nine tries over about a minute. This survives a load balancer's restart or a burst of 503, and
 * still reports a store that is down soon.
 */
export const DEFAULT_RETRIES: RetryPolicy = { attempts: 9, firstDelayMs: 200, longestDelayMs: 20_000 };

/** The longest wait that a store may ask for. */
const LONGEST_RETRY_AFTER_MS = 60_000;

/** Called before every wait with the failure, the tries so far, and the most tries. */
export type OnRetry = (failure: RequestFailure, tries: number, most: number) => void;

/** What every retried call needs. */
export interface Retrying {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly policy: RetryPolicy;
  readonly signal: AbortSignal;
  readonly onRetry?: OnRetry | undefined;
  /** Masks the credentials in use, because a store may repeat what it was sent. */
  readonly redactor: Redactor;
}

/**
 * The wait before try number `attempt` + 1: random, up to a limit that doubles. The spread keeps
 * clients that failed together from retrying together.
 */
export function retryDelay(policy: RetryPolicy, attempt: number, rng: Rng, retryAfter: number | null): number {
  const limit = Math.min(policy.longestDelayMs, policy.firstDelayMs * 2 ** (attempt - 1));
  const jittered = limit / 2 + (rng.next() * limit) / 2;
  return retryAfter === null ? jittered : Math.min(LONGEST_RETRY_AFTER_MS, Math.max(jittered, retryAfter * 1000));
}

/** Runs the work until it succeeds, fails for good, or has used its tries. */
export async function withRetries<T>(
  { clock, rng, policy, signal, onRetry, redactor }: Retrying,
  once: (attempt: number) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    try {
      return await once(attempt);
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof RequestFailure)) throw thrown;
      const failure = thrown.redacted(redactor);
      if (!failure.isTransient) throw failure;
      if (attempt >= policy.attempts) throw failure.after(attempt);
      onRetry?.(failure, attempt, policy.attempts);
      await clock.sleep(retryDelay(policy, attempt, rng, failure.retryAfter), { signal });
    }
  }
}
