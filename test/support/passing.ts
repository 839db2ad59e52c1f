import type { VirtualClock } from '../../src/core/clock.ts';

/** Moves a virtual clock on, by `stepMs` a turn of the event loop, until some work is done: what threads and processes take of it is real time. */
export async function passing<T>(work: Promise<T>, clock: VirtualClock, stepMs = 0): Promise<T> {
  const over = new AbortController();
  const done = work.finally(() => over.abort());
  while (!over.signal.aborted) await clock.advance(stepMs);
  return done;
}
