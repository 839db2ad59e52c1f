import type { Clock } from '../../core/clock.ts';

export interface UntilOptions {
  readonly clock: Clock;
  readonly boundMs: number;
  readonly signal: AbortSignal;
  /** Made where the bound is reached. */
  readonly tooLate: () => Error;
}

/** Nodes see each other through a shared folder, which tells nobody when it changes. */
const LOOK_MS = 25;
const LOOK_SELDOM_MS = 250;
/** Who has waited this long may wait a little longer. */
const SOON_MS = 5000;

/** Looks again and again until there is something to see; bounded. */
export async function until<T>(look: () => T | null, { clock, boundMs, signal, tooLate }: UntilOptions): Promise<T> {
  const startedMs = clock.monotonic();
  for (;;) {
    signal.throwIfAborted();
    const seen = look();
    if (seen !== null) return seen;
    const waitedMs = clock.monotonic() - startedMs;
    if (waitedMs >= boundMs) throw tooLate();
    await clock.sleep(waitedMs < SOON_MS ? LOOK_MS : LOOK_SELDOM_MS, { signal });
  }
}
