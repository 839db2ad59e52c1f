import type { Clock } from '../../core/clock.ts';

export interface UntilOptions {
  readonly clock: Clock;
  readonly boundMs: number;
  /** What whoever is waited for shows of its life, null: nothing; looked at when the bound is reached, which is moved when it is another than the last time. */
  readonly sign?: () => string | null;
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
export async function until<T>(look: () => T | null, { clock, boundMs, sign, signal, tooLate }: UntilOptions): Promise<T> {
  const startedMs = clock.monotonic();
  let boundedMs = boundMs;
  let shown: string | null = null;
  for (;;) {
    signal.throwIfAborted();
    const seen = look();
    if (seen !== null) return seen;
    const waitedMs = clock.monotonic() - startedMs;
    if (waitedMs >= boundedMs) {
      const before: string | null = shown;
      shown = sign?.() ?? null;
      if (shown === before) throw tooLate();
      boundedMs = waitedMs + boundMs;
    }
    await clock.sleep(waitedMs < SOON_MS ? LOOK_MS : LOOK_SELDOM_MS, { signal });
  }
}
