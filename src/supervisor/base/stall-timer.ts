import type { Clock } from '../../core/clock.ts';

/**
 * After this long without a byte, a transfer waits for something that does not answer. A shorter
 * pause may be a large sync.
 */
export const SILENT_MS = 10 * 60_000;

/** Tracks when a transfer without a deadline last moved, so that its waits can detect a stall. */
export class StallTimer {
  readonly #clock: Clock;
  #lastMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastMs = clock.monotonic();
  }

  note(): void {
    this.#lastMs = this.#clock.monotonic();
  }

  /** Resolves when nothing has moved for too long. Rejects when `signal` is aborted. */
  async untilSilent(signal: AbortSignal): Promise<void> {
    for (;;) {
      const leftMs = this.#lastMs + SILENT_MS - this.#clock.monotonic();
      if (leftMs <= 0) return;
      await this.#clock.sleep(leftMs, { signal });
    }
  }
}
