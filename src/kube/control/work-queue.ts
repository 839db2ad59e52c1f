import type { Clock } from '../../core/clock.ts';
import type { Rng } from '../../core/rng.ts';
import { Backoff, type BackoffBounds } from '../watch/backoff.ts';

/** What a work queue is made from. */
export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly rng: Rng;
  /** The pauses of {@link WorkQueue.retry}, for each key. */
  readonly pauses?: BackoffBounds;
}

const PAUSES: BackoffBounds = { firstMs: 100, mostMs: 5 * 60_000 };

/**
 * Keys to work on. A key that is added again before its turn has one turn; one that is added while
 * it is worked on has another turn afterwards, never at the same time.
 *
 * A key is idle, waiting (for a time), ready, taken or resting; a taken or resting key may have
 * been added again.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  /** Ready keys with their priority, in the order of their arrival. */
  readonly #ready = new Map<string, number>();
  readonly #waiting = new Map<string, { readonly atMs: number; readonly alarm: AbortController }>();
  /** Taken keys, and the priority of the turn that they have next; null: none. */
  readonly #taken = new Map<string, number | null>();
  /** Resting keys, and the priority of the turn that they have next; null: none. */
  readonly #resting = new Map<string, number | null>();
  /** Ends all rests, without a turn. */
  readonly #over = new AbortController();
  readonly #backoffs = new Map<string, Backoff>();
  readonly #takers: (() => void)[] = [];
  /** How many ready keys have each priority, so that the highest is found without a search. */
  readonly #priorities = new Map<number, Set<string>>();

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  /** The number of keys that are ready. */
  get depth(): number {
    return this.#ready.size;
  }

  /** Whether no key is ready or taken. Keys may wait for their time. */
  get isIdle(): boolean {
    return this.#ready.size === 0 && this.#taken.size === 0;
  }

  /** Makes a key ready. A higher priority comes first; the highest one given counts. */
  add(key: string, priority = 0): void {
    if (this.#taken.has(key)) this.#taken.set(key, Math.max(priority, this.#taken.get(key) ?? priority));
    else if (this.#resting.has(key)) this.#resting.set(key, Math.max(priority, this.#resting.get(key) ?? priority));
    else this.#makeReady(key, Math.max(priority, this.#ready.get(key) ?? priority));
  }

  /** Makes a key ready after a time, unless it becomes so earlier. */
  addAfter(key: string, ms: number): void {
    if (ms <= 0) return this.add(key);
    const { clock } = this.#options;
    const atMs = clock.monotonic() + ms;
    if (this.#ready.has(key) || (this.#waiting.get(key)?.atMs ?? Number.POSITIVE_INFINITY) <= atMs) return;
    this.#cancelWait(key);
    const alarm = new AbortController();
    this.#waiting.set(key, { atMs, alarm });
    clock.sleep(ms, { signal: alarm.signal }).then(
      () => this.add(key),
      // The wait was cancelled.
      () => undefined,
    );
  }

  /** Makes a key ready after a pause, which doubles with every retry until {@link forget}. */
  retry(key: string): void {
    const backoff = this.#backoffs.get(key) ?? new Backoff(this.#options.pauses ?? PAUSES, this.#options.rng);
    this.#backoffs.set(key, backoff);
    this.addAfter(key, backoff.next());
  }

  /** Makes the next retry of a key a first one. */
  forget(key: string): void {
    this.#backoffs.delete(key);
  }

  /** Takes the first ready key; waits for one. Call {@link done} when the work on it is over. */
  async take({ signal }: { readonly signal: AbortSignal }): Promise<string> {
    for (;;) {
      const key = this.#first();
      if (signal.aborted) {
        // This taker may have been woken for the key: the turn goes to another one.
        if (key !== null) this.#takers.shift()?.();
        throw signal.reason as Error;
      }
      if (key !== null) {
        this.#unready(key);
        this.#taken.set(key, null);
        return key;
      }
      await this.#nextReady(signal);
    }
  }

  /** Ends the work on a taken key, which then has no turn for a while. */
  done(key: string, restMs = 0): void {
    const again = this.#taken.get(key) ?? null;
    this.#taken.delete(key);
    if (restMs > 0) this.#rest(key, again, restMs);
    else if (again !== null) this.#makeReady(key, again);
  }

  /** Cancels all waits, so that no timer is left. */
  [Symbol.dispose](): void {
    this.#over.abort(new Error('the queue is over'));
    for (const key of this.#waiting.keys()) this.#cancelWait(key);
  }

  #rest(key: string, again: number | null, ms: number): void {
    this.#resting.set(key, again);
    this.#options.clock.sleep(ms, { signal: this.#over.signal }).then(
      () => this.#endRest(key),
      // The queue is over.
      () => undefined,
    );
  }

  #endRest(key: string): void {
    const next = this.#resting.get(key) ?? null;
    this.#resting.delete(key);
    if (next !== null) this.#makeReady(key, next);
  }

  /** A turn that is to come makes a wait for a later one needless: its work may ask for another. */
  #makeReady(key: string, priority: number): void {
    this.#cancelWait(key);
    if (this.#ready.get(key) === priority) return;
    this.#unready(key);
    this.#ready.set(key, priority);
    const peers = this.#priorities.get(priority) ?? new Set();
    this.#priorities.set(priority, peers.add(key));
    this.#takers.shift()?.();
  }

  #unready(key: string): void {
    const priority = this.#ready.get(key);
    if (priority === undefined) return;
    this.#ready.delete(key);
    const peers = this.#priorities.get(priority);
    peers?.delete(key);
    if (peers?.size === 0) this.#priorities.delete(priority);
  }

  #first(): string | null {
    if (this.#ready.size === 0) return null;
    const [key] = this.#priorities.get(Math.max(...this.#priorities.keys())) ?? [];
    return key ?? null;
  }

  #cancelWait(key: string): void {
    const wait = this.#waiting.get(key);
    this.#waiting.delete(key);
    wait?.alarm.abort(new Error('the key is ready'));
  }

  #nextReady(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const wake = (): void => {
        signal.removeEventListener('abort', abort);
        resolve();
      };
      const abort = (): void => {
        this.#takers.splice(this.#takers.indexOf(wake), 1);
        reject(signal.reason as Error);
      };
      this.#takers.push(wake);
      signal.addEventListener('abort', abort, { once: true });
    });
  }
}
