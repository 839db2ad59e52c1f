import { Fault } from '../../reading/fault.ts';

/**
 * The owner of each range of bytes in the file. In a sound file ranges never overlap; structures
 * shared under one address are the only exception. The ranges are in plain arrays, because there
 * can be a million.
 */
export class Extents {
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #names: string[] = [];

  /**
   * Records the owner of a range. Callers share one `what` string among many extents to save
   * memory.
   */
  claim(start: number, length: number, what: string): void {
    if (length === 0) return;
    this.#starts.push(start);
    this.#ends.push(start + length);
    this.#names.push(what);
  }

  /** Throws a {@link Fault} when two extents overlap. */
  demandDisjoint(): void {
    const starts = this.#starts;
    const order = Uint32Array.from(starts.keys()).sort((a, b) => (starts[a] as number) - (starts[b] as number));
    let previous = -1;
    for (const i of order) {
      if (previous >= 0 && this.#overlap(previous, i)) {
        const offset = starts[i] as number;
        throw new Fault('HDF5_OVERLAP', `${this.#names[i]} at byte ${offset} lies over ${this.#names[previous]}`, { offset });
      }
      previous = i;
    }
  }

  #overlap(earlier: number, later: number): boolean {
    if ((this.#starts[later] as number) >= (this.#ends[earlier] as number)) return false;
    const isSame = this.#starts[later] === this.#starts[earlier] && this.#ends[later] === this.#ends[earlier];
    return !isSame || this.#names[later] !== this.#names[earlier] || isData(this.#names[later] as string);
  }
}

function isData(what: string): boolean {
  return what.startsWith('dataset ');
}
