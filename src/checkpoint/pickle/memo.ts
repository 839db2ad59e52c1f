import type { PickleValue } from './value.ts';

/** How far ahead of the last index the plain array is used; beyond it a map, so that an index near 2^32 costs one entry. */
const GAP = 1024;

/** Values that were put aside to be used again. */
export class PickleMemo {
  readonly #dense: (PickleValue | undefined)[] = [];
  readonly #sparse = new Map<number, PickleValue>();
  /** How many indexes are taken: the index MEMOIZE uses next. */
  size = 0;

  put(index: number, value: PickleValue): void {
    if (this.get(index) === undefined) this.size++;
    if (index > this.#dense.length + GAP) {
      this.#sparse.set(index, value);
      return;
    }
    while (this.#dense.length < index) this.#dense.push(undefined);
    this.#dense[index] = value;
  }

  get(index: number): PickleValue | undefined {
    const value = this.#dense[index];
    return value === undefined ? this.#sparse.get(index) : value;
  }
}
