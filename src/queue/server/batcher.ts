import type { Clock } from '../../core/clock.ts';
import { toError } from '../../core/errors.ts';

interface Asked<In, Out> {
  readonly one: In;
  readonly resolve: (out: Out) => void;
  readonly reject: (error: Error) => void;
}

/** How long a batch may wait for more requests, as a share of the time that the last one took. */
const GATHERING = 0.5;

/**
 * Collects requests while the database is busy and passes them on together: one sync for thirty
 * workers serves thirty times as many. Only one batch runs at a time. If a batch fails, each of its
 * requests is tried alone.
 *
 * Workers that are answered together come back together. A batch that has not all of them yet waits
 * a moment; otherwise two halves of the workers would take turns, each with a sync of its own.
 */
export class Batcher<In, Out> {
  readonly #run: (list: readonly In[]) => Promise<readonly Out[]>;
  readonly #most: number;
  readonly #clock: Clock;
  #waiting: Asked<In, Out>[] = [];
  #isRunning = false;
  /** The requests that may arrive until `#gatherUntil`: those of the last batch, and the rest. */
  #expected = 0;
  #gatherUntil = 0;
  #gathered: () => void = () => {};

  constructor(run: (list: readonly In[]) => Promise<readonly Out[]>, { most, clock }: { readonly most: number; readonly clock: Clock }) {
    this.#run = run;
    this.#most = most;
    this.#clock = clock;
  }

  add(one: In): Promise<Out> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ one, resolve, reject });
      if (this.#hasAll) this.#gathered();
      if (this.#isRunning) return;
      this.#isRunning = true;
      // A lone worker that comes back at once is not made to wait; nobody else is expected.
      if (this.#hasAll && this.#expected > 0 && this.#gatherUntil > this.#clock.monotonic()) void this.#work();
      // Includes every request that arrived in the meantime.
      else setImmediate(() => void this.#work());
    });
  }

  get #hasAll(): boolean {
    return this.#waiting.length >= Math.min(this.#expected, this.#most);
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#gather();
      const batch = this.#waiting.splice(0, this.#most);
      const start = this.#clock.monotonic();
      await this.#together(batch);
      const end = this.#clock.monotonic();
      this.#expected = this.#waiting.length + batch.length;
      this.#gatherUntil = end + GATHERING * (end - start);
    }
    this.#isRunning = false;
  }

  /** Waits for the rest of the expected requests, but not for long. */
  async #gather(): Promise<void> {
    const left = this.#gatherUntil - this.#clock.monotonic();
    if (this.#hasAll || left <= 0) return;
    const enough = new AbortController();
    this.#gathered = () => enough.abort();
    await this.#clock.sleep(left, { signal: enough.signal }).catch(() => {});
    this.#gathered = () => {};
  }

  async #together(batch: readonly Asked<In, Out>[]): Promise<void> {
    try {
      const answers = await this.#run(batch.map(({ one }) => one));
      for (const [i, { resolve }] of batch.entries()) resolve(answers[i] as Out);
    } catch (thrown) {
      if (batch.length === 1) batch[0]?.reject(toError(thrown));
      else for (const asked of batch) await this.#together([asked]);
    }
  }
}
