import { performance } from 'node:perf_hooks';
import { setTimeout as timeout } from 'node:timers/promises';
import { type Millis, millis } from './duration.ts';

/** How a sleep can end early. */
export interface SleepOptions {
  /** Ends the sleep early: it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * The only source of time. Every component that waits or dates takes a clock, so that tests and
 * simulations control the time.
 */
export interface Clock {
  /** Wall clock: milliseconds since 1970. May jump. */
  now(): Millis;
  /** Never goes back; only differences mean something. */
  monotonic(): Millis;
  sleep(ms: number, options?: SleepOptions): Promise<void>;
}

/** A longer timer of the runtime, of more than 25 days, ends at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The clock of the system. */
export const realClock: Clock = {
  now: () => millis(Date.now()),
  monotonic: () => millis(performance.now()),
  async sleep(ms, { signal } = {}) {
    const options = signal === undefined ? {} : { signal };
    let leftMs = Math.max(0, ms);
    try {
      for (; leftMs > LONGEST_TIMER_MS; leftMs -= LONGEST_TIMER_MS) await timeout(LONGEST_TIMER_MS, undefined, options);
      await timeout(leftMs, undefined, options);
    } catch (thrown) {
      // The runtime wraps the reason in an AbortError; callers want the reason itself.
      signal?.throwIfAborted();
      throw thrown;
    }
  },
};

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/**
 * Time that stands still until a test advances it. Sleepers wake in the order of their times, then
 * of their arrival.
 */
export class VirtualClock implements Clock {
  #elapsed = 0;
  readonly #start: number;
  #sleepers: Sleeper[] = [];

  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#start = start;
  }

  now(): Millis {
    return millis(this.#start + this.#elapsed);
  }

  monotonic(): Millis {
    return millis(this.#elapsed);
  }

  /**
   * The number of sleeps that wait for {@link advance}. If a test hangs while this is above zero,
   * it forgot to advance the time.
   */
  get waiting(): number {
    return this.#sleepers.length;
  }

  async sleep(ms: number, { signal }: SleepOptions = {}): Promise<void> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const sleeper: Sleeper = { at: this.#elapsed + Math.max(0, ms), wake: resolve };
    const abort = (): void => {
      this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
      reject(signal?.reason as Error);
    };
    this.#sleepers.push(sleeper);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      await promise;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /**
   * Advances the time and wakes sleepers one by one. Each runs, and may sleep again, before the
   * next wakes.
   */
  async advance(ms: number): Promise<void> {
    const target = this.#elapsed + ms;
    await settle();
    for (let next = this.#take(target); next !== undefined; next = this.#take(target)) {
      this.#elapsed = Math.max(this.#elapsed, next.at);
      next.wake();
      await settle();
    }
    this.#elapsed = target;
  }

  /** Removes and returns the first sleeper due at or before `target`. */
  #take(target: number): Sleeper | undefined {
    let first: Sleeper | undefined;
    for (const sleeper of this.#sleepers) if (sleeper.at <= target && (first === undefined || sleeper.at < first.at)) first = sleeper;
    if (first !== undefined) this.#sleepers.splice(this.#sleepers.indexOf(first), 1);
    return first;
  }
}

/** Runs all ready work: promise chains of any length end before the next turn of the event loop. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
