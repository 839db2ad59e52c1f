import type { Clock } from '../../core/clock.ts';

/** Workers that wait for items of a queue. Each is woken once, or waits until its time is over. */
export class Waiters {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Set<AbortController>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The queues with waiting workers. */
  get queues(): readonly string[] {
    return [...this.#waiting.keys()];
  }

  /** Resolves when the queue is woken, when the time is over, or when the signal is aborted. */
  async wait(queue: string, ms: number, signal: AbortSignal): Promise<void> {
    const waiter = new AbortController();
    const waiting = this.#waiting.get(queue) ?? new Set();
    this.#waiting.set(queue, waiting.add(waiter));
    try {
      await this.#clock.sleep(ms, { signal: AbortSignal.any([signal, waiter.signal]) });
    } catch {
      // A wake-up and an abort both end the wait.
    } finally {
      waiting.delete(waiter);
      if (waiting.size === 0 && this.#waiting.get(queue) === waiting) this.#waiting.delete(queue);
    }
  }

  /** Wakes up to this many waiters of the queue. */
  wake(queue: string, most = Infinity): void {
    let left = most;
    for (const waiter of this.#waiting.get(queue) ?? []) {
      if (left-- <= 0) break;
      waiter.abort();
    }
  }

  wakeAll(): void {
    for (const queue of this.queues) this.wake(queue);
  }
}
