import type { VirtualClock } from '../../src/core/clock.ts';

/**
 * Moves a virtual clock forward by `stepMs` each turn of the event loop until the work is done.
 * Threads and processes still take real time.
 */
export async function passing<T>(work: Promise<T>, clock: VirtualClock, stepMs = 0): Promise<T> {
  const over = new AbortController();
  const done = work.finally(() => over.abort());
  while (!over.signal.aborted) await clock.advance(stepMs);
  return done;
}
