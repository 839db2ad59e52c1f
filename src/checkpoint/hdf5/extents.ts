import { Fault } from '../fault.ts';

/** Which bytes of the file belong to what. In a sound file nothing lies over anything else. */
export class Extents {
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #names: string[] = [];
  readonly #known = new Map<number, number>();

  /** A structure; it may be met again under the same address. */
  claim(start: number, length: number, what: string): void {
    if (this.#known.get(start) === start + length) return;
    this.#add(start, length, what);
  }

  /** Raw data; no two datasets share it. */
  claimData(start: number, length: number, what: string): void {
    if (length > 0 && this.#known.has(start)) throw overlap(start, what, 'something else');
    this.#add(start, length, what);
  }

  #add(start: number, length: number, what: string): void {
    if (length === 0) return;
    this.#known.set(start, start + length);
    this.#starts.push(start);
    this.#ends.push(start + length);
    this.#names.push(what);
  }

  /** Throws a {@link Fault} when two extents overlap. */
  demandDisjoint(): void {
    const order = Uint32Array.from(this.#starts.keys()).sort((a, b) => (this.#starts[a] as number) - (this.#starts[b] as number));
    let end = 0;
    let owner = '';
    for (const i of order) {
      const start = this.#starts[i] as number;
      const what = this.#names[i] as string;
      if (start < end) throw overlap(start, what, owner);
      end = this.#ends[i] as number;
      owner = what;
    }
  }
}

function overlap(offset: number, what: string, other: string): Fault {
  return new Fault('HDF5_OVERLAP', `${what} at byte ${offset} lies over ${other}`, { offset });
}
