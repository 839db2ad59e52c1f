import type { Chunks } from './chunks.ts';
import type { TensorItem } from './dcp-metadata.ts';
import type { StoredTable } from './stored-table.ts';

/**
 * The average number of search steps before the search gives up. Only names and offsets made to
 * collide need more.
 */
const PROBES = 64;
const FREE = -1;

/**
 * Finds the stored items of a name and its offsets. Objects have no offsets, and tensors without
 * dimensions have none either, so both look alike here.
 */
export class Places {
  readonly #stored: StoredTable;
  readonly #slots: Int32Array;
  /** For each item, by index: the index of its chunk within the tensor. */
  readonly #chunks: Int32Array;
  #probes: number;

  constructor(stored: StoredTable) {
    this.#stored = stored;
    this.#chunks = new Int32Array(stored.length).fill(FREE);
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(stored.length * 2 + 2))).fill(FREE);
    this.#probes = PROBES * (stored.length + 1);
    for (let index = 0; index < stored.length && this.#probes > 0; index++) {
      this.#slots[this.#slotOf(stored.nameIdAt(index), stored.offsetsAt(index))] = index;
    }
    this.#probes += PROBES * (stored.length + 1);
  }

  /** False when the search gave up. */
  get isComplete(): boolean {
    return this.#probes > 0;
  }

  has(name: string, offsets: readonly number[]): boolean {
    return this.#slots[this.#slotOf(this.#idOf(name), offsets)] !== FREE;
  }

  /** Looks up the chunks of a tensor and returns how many have no place. */
  match(name: string, chunks: Chunks): number {
    const id = this.#idOf(name);
    let missing = 0;
    for (let chunk = 0; chunk < chunks.length; chunk++) {
      const item = this.#slots[this.#slotOf(id, chunks.offsets(chunk))] as number;
      if (item === FREE) missing++;
      else this.#chunks[item] = chunk;
    }
    return missing;
  }

  /**
   * Returns the number of elements of the chunk at an item's place, once its tensor was matched. A
   * lone chunk may be anywhere.
   */
  elementsAt(item: number, { chunks }: TensorItem): number | null {
    const chunk = chunks.length === 1 ? 0 : (this.#chunks[item] ?? FREE);
    return chunk === FREE ? null : chunks.volume(chunk);
  }

  #idOf(name: string): number {
    return this.#stored.names.find(name) ?? 0xffff_ffff;
  }

  #slotOf(id: number, offsets: readonly number[]): number {
    let hash = Math.imul(id ^ 0x9e37_79b9, 0x85eb_ca6b);
    for (const offset of offsets) {
      hash = Math.imul(hash ^ (hash >>> 15) ^ (offset % 0x1_0000_0000), 0x2c1b_3c6d);
      hash = Math.imul(hash ^ (hash >>> 12) ^ Math.floor(offset / 0x1_0000_0000), 0x297a_2d39);
    }
    const mask = this.#slots.length - 1;
    let slot = (hash ^ (hash >>> 15)) & mask;
    for (; this.#probes > 0; slot = (slot + 1) & mask) {
      const index = this.#slots[slot] as number;
      if (index === FREE || (this.#stored.nameIdAt(index) === id && this.#stored.isAt(index, offsets))) break;
      this.#probes--;
    }
    return slot;
  }
}
