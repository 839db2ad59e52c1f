import type { PickleValue } from './value.ts';

/**
 * Values that were put aside to be used again. Indexes that come in order, as picklers give them, are kept in a plain array, others in
 * a map: an index near 2^32 costs one entry, and gaps between indexes cost nothing.
 */
export class PickleMemo {
  readonly #dense: PickleValue[] = [];
  readonly #sparse = new Map<number, PickleValue>();
  /** How many indexes are taken: the index MEMOIZE uses next. */
  size = 0;

  put(index: number, value: PickleValue): void {
    if (this.get(index) === undefined) this.size++;
    if (index <= this.#dense.length) this.#dense[index] = value;
    else this.#sparse.set(index, value);
  }

  get(index: number): PickleValue | undefined {
    const value = this.#dense[index];
    return value === undefined ? this.#sparse.get(index) : value;
  }

  /** True when the next put at this index takes an entry of the map. */
  isSparse(index: number): boolean {
    return index > this.#dense.length;
  }
}
