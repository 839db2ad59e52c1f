import type { Clock } from './clock.ts';

/** The result of the work, or null after this time. Leaves no timer behind. */
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
