import type { Clock } from '../../core/clock.ts';

/** How to wait for another node through a shared folder. */
export interface UntilOptions {
  readonly clock: Clock;
  readonly boundMs: number;
  /**
   * A sign of life of the other node, or null. It is read when the bound is reached; a changed sign
   * extends the bound.
   */
  readonly sign?: () => string | null;
  /**
   * Whether the other node is known never to do it. Asked about once a second. What it did last may
   * show a moment later, so a short wait follows.
   */
  readonly isInVain?: () => boolean;
  readonly signal: AbortSignal;
  /** Makes the error to throw when the bound is reached. */
  readonly tooLate: () => Error;
}

/** How often to look: a shared folder sends no events about changes by other nodes. */
const LOOK_MS = 25;
const LOOK_SELDOM_MS = 250;
/** After this long the wait looks less often. */
const SOON_MS = 5000;
const ASK_MS = 1000;
/** A network file system may show one change later than another. */
const SETTLE_MS = 2000;

/** Polls until there is a result, or the bound is reached. */
export async function until<T>(look: () => T | null, { clock, boundMs, sign, isInVain, signal, tooLate }: UntilOptions): Promise<T> {
  const startedMs = clock.monotonic();
  let boundedMs = boundMs;
  let shown: string | null = null;
  let askedMs = 0;
  for (;;) {
    signal.throwIfAborted();
    const seen = look();
    if (seen !== null) return seen;
    const waitedMs = clock.monotonic() - startedMs;
    if (isInVain !== undefined && waitedMs - askedMs >= ASK_MS) {
      askedMs = isInVain() ? Infinity : waitedMs;
      if (askedMs === Infinity) boundedMs = Math.min(boundedMs, waitedMs + SETTLE_MS);
    }
    if (waitedMs >= boundedMs) {
      const before: string | null = shown;
      shown = sign?.() ?? null;
      if (shown === before) throw tooLate();
      boundedMs = waitedMs + boundMs;
    }
    await clock.sleep(waitedMs < SOON_MS ? LOOK_MS : LOOK_SELDOM_MS, { signal });
  }
}
