import type { IndexSet } from './recalled.ts';
import type { PickleValue } from './value.ts';

/**
 * Values stored in the memo for later use. Indexes that come in order, as picklers assign them, go
 * into a plain array; others go into a map. An index near 2^32 thus costs one entry, and gaps
 * between indexes cost nothing. When the recalled indexes are known, the memo only counts the
 * others.
 */
export class PickleMemo {
  readonly #recalled: IndexSet | null;
  readonly #dense: PickleValue[] = [];
  readonly #sparse = new Map<number, PickleValue>();
  /** The lowest index not yet put: every index from 0 up to it was. */
  #inOrder = 0;
  /** Number of indexes taken: the index that MEMOIZE uses next. */
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

  /** Counts the next index in order without keeping its value, when the pickle never recalls it. */
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

  /** False when the pickle never recalls the value at this index. */
  keeps(index: number): boolean {
    return this.#recalled === null || index > this.#inOrder || this.#recalled.has(index);
  }

  /** True when the next put at this index takes an entry of the map. */
  isSparse(index: number): boolean {
    return this.#recalled !== null || index > this.#dense.length;
  }
}
