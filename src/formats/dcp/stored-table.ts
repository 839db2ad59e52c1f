import { NameColumn, NumberColumn } from '../../bytes/number-column.ts';

/** The place of one chunk, or of one object. */
export interface StoredItem {
  readonly name: string;
  /** First element of the chunk; null for an object. */
  readonly offsets: readonly number[] | null;
  readonly file: string;
  readonly start: number;
  readonly length: number;
  /**
   * True when an extension transformed the bytes (compression), so that they are not a torch file
   * as stored.
   */
  readonly isTransformed: boolean;
}

/** All places, as columns, because a large run has a million chunks. */
export class StoredTable {
  readonly names = new NameColumn();
  readonly files = new NameColumn();
  readonly #name = new NumberColumn();
  readonly #file = new NumberColumn();
  readonly #start = new NumberColumn();
  readonly #length = new NumberColumn();
  /**
   * Where in `#places` an item's offsets are stored: first their number, and whether the bytes are
   * transformed.
   */
  readonly #place = new NumberColumn();
  readonly #places = new NumberColumn();

  get length(): number {
    return this.#name.length;
  }

  get bytes(): number {
    const columns = [this.names, this.files, this.#name, this.#file, this.#start, this.#length, this.#place, this.#places];
    return columns.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  push({ name, offsets, file, start, length, isTransformed }: StoredItem): void {
    this.#name.push(this.names.idOf(name));
    this.#file.push(this.files.idOf(file));
    this.#start.push(start);
    this.#length.push(length);
    this.#place.push(this.#places.length);
    this.#places.push((offsets === null ? 0 : offsets.length + 1) * 2 + (isTransformed ? 1 : 0));
    for (const offset of offsets ?? []) this.#places.push(offset);
  }

  at(index: number): StoredItem {
    const header = this.#places.at(this.#place.at(index));
    return {
      name: this.nameAt(index),
      offsets: header < 2 ? null : this.offsetsAt(index),
      file: this.files.at(this.#file.at(index)),
      start: this.#start.at(index),
      length: this.#length.at(index),
      isTransformed: header % 2 === 1,
    };
  }

  nameIdAt(index: number): number {
    return this.#name.at(index);
  }

  nameAt(index: number): string {
    return this.names.at(this.#name.at(index));
  }

  /** Returns true when the item is the chunk with these offsets; an object has no offsets. */
  isAt(index: number, offsets: readonly number[]): boolean {
    const place = this.#place.at(index);
    if (Math.max(0, Math.floor(this.#places.at(place) / 2) - 1) !== offsets.length) return false;
    for (let at = 0; at < offsets.length; at++) if (this.#places.at(place + 1 + at) !== offsets[at]) return false;
    return true;
  }

  /** Returns the offsets of a chunk, none for an object. */
  offsetsAt(index: number): number[] {
    const place = this.#place.at(index);
    const count = Math.max(0, Math.floor(this.#places.at(place) / 2) - 1);
    const offsets: number[] = [];
    for (let at = place + 1; at <= place + count; at++) offsets.push(this.#places.at(at));
    return offsets;
  }

  startOf(index: number): number {
    return this.#start.at(index);
  }

  endOf(index: number): number {
    return this.#start.at(index) + this.#length.at(index);
  }

  /** Returns the indexes of each file's items, in the order of their place in it. */
  byFile(): ReadonlyMap<string, Int32Array> {
    const counts = new Int32Array(this.files.length);
    for (let index = 0; index < this.length; index++) this.#addTo(counts, index);
    const files = Array.from(counts, (count) => new Int32Array(count));
    counts.fill(0);
    for (let index = 0; index < this.length; index++) {
      const file = this.#file.at(index);
      (files[file] as Int32Array)[counts[file] as number] = index;
      this.#addTo(counts, index);
    }
    return new Map(files.map((items, file) => [this.files.at(file), this.#sorted(items)]));
  }

  #addTo(counts: Int32Array, index: number): void {
    const file = this.#file.at(index);
    counts[file] = (counts[file] as number) + 1;
  }

  /** Most writers list the items of a file in the order of their place. */
  #sorted(items: Int32Array): Int32Array {
    const compare = (a: number, b: number) => this.#start.at(a) - this.#start.at(b) || this.#length.at(a) - this.#length.at(b);
    const isSorted = items.every((item, at) => at === 0 || compare(items[at - 1] as number, item) <= 0);
    return isSorted ? items : items.sort(compare);
  }
}
