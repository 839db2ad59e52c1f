import type { Clock } from '../../core/clock.ts';

/** Decides when the next bytes may go. */
export interface RateLimit {
  /** How many bytes to ask for at a time, so that everybody who waits gets a turn soon. */
  readonly chunkBytes: number;
  /** More transfers at a time would each be so slow that stores, and our own deadlines, take them for dead. */
  readonly mostTransfers: number;
  /** Resolves when this many bytes may go. */
  take(bytes: number, signal: AbortSignal): Promise<void>;
}

/** Large enough that the cost of a call does not show, small enough that many transfers at once fit into little memory. */
const LARGEST_CHUNK = 1024 * 1024;
const SMALLEST_CHUNK = 16 * 1024;
/** Turns a second at the full rate. */
const TURNS = 32;
/** Several times what the slowest link has that a request is waited for on. */
const SLOWEST_TRANSFER = 64 * 1024;

export const UNLIMITED: RateLimit = { chunkBytes: LARGEST_CHUNK, mostTransfers: Infinity, take: () => Promise.resolve() };

/** A token bucket that holds a quarter of a second: short bursts pass, the mean never exceeds the rate. */
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
      // The bucket may go below zero: whoever comes next waits for what was lent, so turns are kept in the order of arrival.
      tokens -= bytes;
      if (tokens < 0) await clock.sleep((-tokens * 1000) / bytesPerSecond, { signal });
    },
  };
}
