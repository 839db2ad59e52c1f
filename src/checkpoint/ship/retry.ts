import type { Clock } from '../../core/clock.ts';
import type { Rng } from '../../core/rng.ts';
import { RequestFailure } from './failure.ts';

export interface RetryPolicy {
  /** Tries in all. */
  readonly attempts: number;
  readonly firstDelayMs: number;
  readonly longestDelayMs: number;
}

/** Nine tries over about a minute: a load balancer's restart or a storm of 503 passes, a store that is down is told soon. */
export const DEFAULT_RETRIES: RetryPolicy = { attempts: 9, firstDelayMs: 200, longestDelayMs: 20_000 };

/** The longest a store may make us wait by its own word. */
const LONGEST_RETRY_AFTER_MS = 60_000;

/** Told before every wait: what failed, how often it was tried, and how often it will be at most. */
export type OnRetry = (failure: RequestFailure, tries: number, most: number) => void;

export interface Retrying {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly policy: RetryPolicy;
  readonly signal: AbortSignal;
  readonly onRetry?: OnRetry | undefined;
}

/** How long to wait before try number `attempt` + 1: anywhere up to a limit that doubles, so that many who failed together come back apart. */
export function retryDelay(policy: RetryPolicy, attempt: number, rng: Rng, retryAfter: number | null): number {
  const limit = Math.min(policy.longestDelayMs, policy.firstDelayMs * 2 ** (attempt - 1));
  const jittered = limit / 2 + (rng.next() * limit) / 2;
  return retryAfter === null ? jittered : Math.min(LONGEST_RETRY_AFTER_MS, Math.max(jittered, retryAfter * 1000));
}

/** Does it until it succeeds, fails for good, or has failed too often. */
export async function withRetries<T>({ clock, rng, policy, signal, onRetry }: Retrying, once: (attempt: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    try {
      return await once(attempt);
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof RequestFailure) || !thrown.isTransient) throw thrown;
      if (attempt >= policy.attempts) throw thrown.after(attempt);
      onRetry?.(thrown, attempt, policy.attempts);
      await clock.sleep(retryDelay(policy, attempt, rng, thrown.retryAfter), { signal });
    }
  }
}
