import type { Clock } from '../../core/clock.ts';

/** Decides when the next bytes may go. */
export interface RateLimit {
  /** How many bytes to request at a time, so that every waiting transfer gets a turn soon. */
  readonly chunkBytes: number;
  /**
   * The limit of parallel transfers. More would each be so slow that stores and our own deadlines
   * drop them.
   */
  readonly mostTransfers: number;
  /** Resolves when this many bytes may go. */
  take(bytes: number, signal: AbortSignal): Promise<void>;
}

/** Large enough to hide the cost of a call, small enough for many transfers in little memory. */
const LARGEST_CHUNK = 1024 * 1024;
const SMALLEST_CHUNK = 16 * 1024;
/** Turns per second at the full rate. */
const TURNS = 32;
/** Several times the slowest rate at which a request keeps its connection. */
const SLOWEST_TRANSFER = 64 * 1024;

/** Lets all bytes go at once. */
export const UNLIMITED: RateLimit = { chunkBytes: LARGEST_CHUNK, mostTransfers: Infinity, take: () => Promise.resolve() };

/**
 * Limits the rate with a token bucket of a quarter of a second: short bursts pass, the mean never
 * exceeds the rate.
 */
export function limitRate(bytesPerSecond: number, clock: Clock): RateLimit {
  const capacity = bytesPerSecond / 4;
  let tokens = 0;
  let filledAt = clock.monotonic() as number;
  return {
    chunkBytes: Math.max(SMALLEST_CHUNK, Math.min(LARGEST_CHUNK, Math.floor(bytesPerSecond / TURNS))),
    mostTransfers: Math.max(1, Math.floor(bytesPerSecond / SLOWEST_TRANSFER)),
    async take(bytes, signal) {
      const now = clock.monotonic();
      tokens = Math.min(capacity, tokens + ((now - filledAt) * bytesPerSecond) / 1000);
      filledAt = now;
      // The bucket may go below zero. The next caller waits for the debt, which keeps turns in the
      // order of arrival.
      tokens -= bytes;
      if (tokens < 0) await clock.sleep((-tokens * 1000) / bytesPerSecond, { signal });
    },
  };
}
