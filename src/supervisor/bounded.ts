import type { Clock } from '../core/clock.ts';

/** What the work comes to, or null when it has not within this time. No timer is left behind. */
export async function bounded<T>(work: Promise<T>, ms: number, clock: Clock): Promise<T | null> {
  const over = new AbortController();
  const late = clock.sleep(ms, { signal: over.signal }).then(
    () => null,
    () => null,
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}
