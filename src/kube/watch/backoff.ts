import type { Rng } from '../../core/rng.ts';

/** The bounds of an exponential back-off. */
export interface BackoffBounds {
  readonly firstMs: number;
  readonly mostMs: number;
}

/** Pauses that double from failure to failure, each spread by a fifth so that clients part. */
export class Backoff {
  readonly #bounds: BackoffBounds;
  readonly #rng: Rng;
  #failures = 0;

  constructor(bounds: BackoffBounds, rng: Rng) {
    this.#bounds = bounds;
    this.#rng = rng;
  }

  /** The pause after one more failure. */
  next(): number {
    const { firstMs, mostMs } = this.#bounds;
    const ms = Math.min(mostMs, firstMs * 2 ** Math.min(this.#failures, 30));
    this.#failures += 1;
    return ms * (0.8 + 0.4 * this.#rng.next());
  }

  reset(): void {
    this.#failures = 0;
  }
}
