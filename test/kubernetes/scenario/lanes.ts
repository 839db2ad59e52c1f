/** Places for one test at a time. A test that finds all of them taken waits. */
export class Lanes {
  readonly #free: number[];
  readonly #waiting: ((lane: number) => void)[] = [];

  constructor(count: number) {
    this.#free = Array.from({ length: count }, (_, index) => index + 1);
  }

  async use<Value>(work: (lane: number) => Promise<Value>): Promise<Value> {
    const lane = this.#free.shift() ?? (await new Promise<number>((resolve) => this.#waiting.push(resolve)));
    try {
      return await work(lane);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free.push(lane);
      else next(lane);
    }
  }
}
