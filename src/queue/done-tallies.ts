import type { Turn, TurnAnswer } from './backend.ts';
import type { StoreTransaction, Tallied } from './store.ts';
import { tallyPeriod } from './tally-period.ts';

interface Pending {
  readonly queue: string;
  readonly at: number;
  readonly done: number;
}

/**
 * The items that were finished since the last write of the tallies. Only the rate depends on them:
 * after a crash it misses the last second, and no turn writes a row for it.
 */
export class DoneTallies {
  readonly #pending = new Map<string, Pending>();

  /** Counts the results that these turns wrote. */
  add(turns: readonly Turn[], answers: readonly TurnAnswer[], now: number): void {
    for (const [i, { commits }] of answers.entries()) {
      const done = commits.filter(({ verdict }) => verdict === 'write').length;
      if (done > 0) this.#change({ queue: turns[i]?.queue ?? '', at: tallyPeriod(now), done });
    }
  }

  /** What is not yet written of a queue, since then. */
  of(queue: string, since: number): Tallied {
    const own = [...this.#pending.values()].filter((one) => one.queue === queue && one.at >= since);
    return { done: own.reduce((sum, { done }) => sum + done, 0), first: own.length === 0 ? null : Math.min(...own.map(({ at }) => at)) };
  }

  /** Writes all tallies. The returned function forgets them, once they are durable. */
  async write(rows: StoreTransaction): Promise<() => void> {
    const written = [...this.#pending.values()];
    for (const { queue, at, done } of written) {
      const row = await rows.queue(queue);
      if (row !== null) await rows.tally(row.id, at, done);
    }
    return () => {
      for (const one of written) this.#change({ ...one, done: -one.done });
    };
  }

  #change({ queue, at, done }: Pending): void {
    const key = `${queue}\n${at}`;
    const after = (this.#pending.get(key)?.done ?? 0) + done;
    if (after === 0) this.#pending.delete(key);
    else this.#pending.set(key, { queue, at, done: after });
  }
}
