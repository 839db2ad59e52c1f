/** Lets a bounded number of things happen at a time; the others wait in the order they came. */
export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
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
