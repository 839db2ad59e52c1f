import type { IndexSet } from './recalled.ts';
import type { PickleValue } from './value.ts';

/**
 * Values that were put aside to be used again. Indexes that come in order, as picklers give them, are kept in a plain array, others in
 * a map: an index near 2^32 costs one entry, and gaps between indexes cost nothing. Where it is known which indexes are recalled, the
 * others are only counted.
 */
export class PickleMemo {
  readonly #recalled: IndexSet | null;
  readonly #dense: PickleValue[] = [];
  readonly #sparse = new Map<number, PickleValue>();
  /** Indexes from 0 up to this were all put. */
  #inOrder = 0;
  /** How many indexes are taken: the index MEMOIZE uses next. */
  size = 0;

  constructor(recalled: IndexSet | null = null) {
    this.#recalled = recalled;
  }

  put(index: number, value: PickleValue): void {
    if (index >= this.#inOrder) {
      if (!this.#sparse.has(index)) this.size++;
      if (index === this.#inOrder) this.#inOrder++;
    }
    if (!this.keeps(index)) return;
    if (this.isSparse(index)) this.#sparse.set(index, value);
    else this.#dense[index] = value;
  }

  /** Counts the next index in order without keeping what is put there, when nobody asks for it. */
  passOver(): boolean {
    if (this.#recalled === null || this.size !== this.#inOrder || this.#recalled.has(this.size)) return false;
    this.#inOrder++;
    this.size++;
    return true;
  }

  get(index: number): PickleValue | undefined {
    const value = this.#dense[index];
    return value === undefined ? this.#sparse.get(index) : value;
  }

  /** False when what is put at this index is never asked for. */
  keeps(index: number): boolean {
    return this.#recalled === null || index > this.#inOrder || this.#recalled.has(index);
  }

  /** True when the next put at this index takes an entry of the map. */
  isSparse(index: number): boolean {
    return this.#recalled !== null || index > this.#dense.length;
  }
}
