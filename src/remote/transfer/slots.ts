interface Waiting {
  readonly of: string;
  readonly start: () => void;
}

/**
 * Limits how many transfers run at a time. The next slot goes to the file with the fewest running
 * transfers, then to the first that asked. Spread over several files, parallel writes disturb each
 * other less than inside one file.
 */
export class Slots {
  #free: number;
  #isGranting = false;
  readonly #underWay = new Map<string, number>();
  readonly #waiting: Waiting[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async run<T>(work: () => Promise<T>, of = ''): Promise<T> {
    await new Promise<void>((start) => {
      this.#waiting.push({ of, start });
      this.#grantSoon();
    });
    try {
      return await work();
    } finally {
      this.#free++;
      this.#count(of, -1);
      this.#grantSoon();
    }
  }

  /** Not at once: other callers of the same moment must be able to queue first. */
  #grantSoon(): void {
    if (this.#isGranting) return;
    this.#isGranting = true;
    setImmediate(() => {
      this.#isGranting = false;
      while (this.#free > 0 && this.#waiting.length > 0) this.#grant();
    });
  }

  #grant(): void {
    const next = this.#waiting.reduce((best, each) => (this.#countOf(each.of) < this.#countOf(best.of) ? each : best));
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    this.#free--;
    this.#count(next.of, 1);
    next.start();
  }

  #countOf(of: string): number {
    return this.#underWay.get(of) ?? 0;
  }

  #count(of: string, change: number): void {
    const count = this.#countOf(of) + change;
    if (count === 0) this.#underWay.delete(of);
    else this.#underWay.set(of, count);
  }
}

/**
 * Runs the work for every item, with a limit. The first failure aborts the rest through `stop` and
 * is thrown when all have ended.
 */
export async function forEachAtOnce<T>(
  items: readonly T[],
  { width, stop }: { readonly width: number; readonly stop: AbortController },
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const failures: unknown[] = [];
  const worker = async (): Promise<void> => {
    while (next < items.length && failures.length === 0) {
      const item = items[next++] as T;
      try {
        await work(item);
      } catch (thrown) {
        failures.push(thrown);
        stop.abort(thrown);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
}
