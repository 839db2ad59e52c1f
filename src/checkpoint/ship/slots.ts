interface Waiting {
  readonly of: string;
  readonly start: () => void;
}

/**
 * Lets a bounded number of things happen at a time. Of those that wait, the next is of those of whom the fewest are under way, and among them the first
 * that came: several files that are written at the same time do not get into each other's way as several places of one file do.
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

  /** Not at once: others who ask at the same moment are to be heard first. */
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

/** Does it for every item, so many at a time. The first failure stops the rest through `stop` and is thrown when all have ended. */
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
