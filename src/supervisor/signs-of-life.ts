import type { Clock } from '../core/clock.ts';

/** Who has not moved a byte for so long waits for something that does not answer. Shorter may be a sync of very much. */
export const SILENT_MS = 10 * 60_000;

/** When something that takes as long as it takes was last heard of, for whoever waits for it without a deadline. */
export class SignsOfLife {
  readonly #clock: Clock;
  #lastMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastMs = clock.monotonic();
  }

  note(): void {
    this.#lastMs = this.#clock.monotonic();
  }

  /** Resolves when there was none for too long. Rejects when `signal` is aborted. */
  async untilSilent(signal: AbortSignal): Promise<void> {
    for (;;) {
      const leftMs = this.#lastMs + SILENT_MS - this.#clock.monotonic();
      if (leftMs <= 0) return;
      await this.#clock.sleep(leftMs, { signal });
    }
  }
}
