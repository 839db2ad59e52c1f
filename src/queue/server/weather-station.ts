import { batchSize } from '../../domain/queue/batch-size.ts';

/** The weight of one new measurement against all earlier ones. */
const WEIGHT = 0.2;
/** The assumed cost of a request for a worker, in milliseconds, before the first measurement. */
const REQUEST_MS = 2;
/** A queue without use for this long is forgotten. */
const FORGET_MS = 60 * 60_000;

interface Measured {
  itemMs: number | null;
  workerMs: number;
  interruptions: number;
  usedAt: number;
  readonly lastTurn: Map<string, number>;
}

/**
 * Measures the duration of items and the rate of interruptions per queue, and sizes leases by them.
 */
export class WeatherStation {
  readonly #queues = new Map<string, Measured>();

  /** Records the items that a worker finished in turn since its last request. */
  turn(queue: string, session: string, { finished, now }: { readonly finished: number; readonly now: number }): void {
    const measured = this.#of(queue, now);
    const since = measured.lastTurn.get(session);
    measured.lastTurn.set(session, now);
    if (since === undefined) return;
    measured.workerMs += now - since;
    if (finished === 0) return;
    const itemMs = (now - since) / finished;
    measured.itemMs = measured.itemMs === null ? itemMs : measured.itemMs + WEIGHT * (itemMs - measured.itemMs);
  }

  /** Records that a worker is gone, or about to end, before its queue was drained. */
  interrupted(session: string): void {
    for (const measured of this.#queues.values()) if (measured.lastTurn.delete(session)) measured.interruptions += 1;
  }

  /** Records that a worker ended because nothing was left. */
  ended(session: string): void {
    for (const measured of this.#queues.values()) measured.lastTurn.delete(session);
  }

  /** The number of items for a worker’s next lease. */
  fit(queue: string, most: number): number {
    const measured = this.#queues.get(queue);
    if (measured === undefined) return 1;
    const { itemMs, workerMs, interruptions } = measured;
    const interruptionsPerMs = workerMs > 0 ? interruptions / workerMs : 0;
    return batchSize({ itemMs, interruptionsPerMs, requestMs: REQUEST_MS }, most);
  }

  /** Forgets unused queues. */
  tidy(now: number): void {
    for (const [queue, { usedAt }] of this.#queues) if (now - usedAt > FORGET_MS) this.#queues.delete(queue);
  }

  #of(queue: string, now: number): Measured {
    let measured = this.#queues.get(queue);
    if (measured === undefined) {
      measured = { itemMs: null, workerMs: 0, interruptions: 0, usedAt: now, lastTurn: new Map() };
      this.#queues.set(queue, measured);
    }
    measured.usedAt = now;
    return measured;
  }
}
