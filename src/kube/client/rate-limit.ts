import type { Clock } from '../../core/clock.ts';

/** How many requests a client may send. */
export interface Rate {
  readonly perSecond: number;
  /** As many may go at once after a quiet time. */
  readonly burst: number;
}

/** Lets requests through at a rate, in the order in which they asked (a token bucket). */
export class RateLimit {
  readonly #rate: Rate;
  readonly #clock: Clock;
  /** When the bucket would be full again, if no more were taken. */
  #fullMs = 0;

  constructor(rate: Rate, clock: Clock) {
    this.#rate = rate;
    this.#clock = clock;
  }

  /** Waits for the turn of one request. */
  async turn({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { perSecond, burst } = this.#rate;
    const nowMs = this.#clock.monotonic();
    const perRequestMs = 1000 / perSecond;
    this.#fullMs = Math.max(this.#fullMs, nowMs) + perRequestMs;
    const waitMs = this.#fullMs - nowMs - burst * perRequestMs;
    if (waitMs > 0) await this.#clock.sleep(waitMs, { signal });
  }
}
