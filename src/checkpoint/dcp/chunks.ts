import { NumberColumn } from '../number-column.ts';

/** A box inside a tensor: where it begins and how far it reaches, in every dimension. */
export interface Chunk {
  readonly offsets: readonly number[];
  readonly sizes: readonly number[];
}

/** Boxes that can be looked at one by one. */
export interface Chunks {
  readonly length: number;
  at(index: number): Chunk;
  /** Where the chunk begins. */
  offsets(index: number): readonly number[];
  /** Elements of the chunk. */
  volume(index: number): number;
}

/** Elements of a box. */
export function volume(sizes: readonly number[]): number {
  return sizes.includes(0) ? 0 : sizes.reduce((product, size) => product * size, 1);
}

/** The chunks of very many tensors, one behind the other, as plain numbers. */
export class ChunkPool {
  readonly #numbers = new NumberColumn();

  get bytes(): number {
    return this.#numbers.bytes;
  }

  /** Where the next chunk will begin. */
  get end(): number {
    return this.#numbers.length;
  }

  push({ offsets, sizes }: Chunk): void {
    for (const offset of offsets) this.#numbers.push(offset);
    for (const size of sizes) this.#numbers.push(size);
  }

  product(start: number, count: number): number {
    let product = 1;
    for (let index = start; index < start + count && product > 0; index++) product *= this.#numbers.at(index);
    return product;
  }

  numbers(start: number, count: number): number[] {
    const numbers: number[] = [];
    for (let index = start; index < start + count; index++) numbers.push(this.#numbers.at(index));
    return numbers;
  }
}

/** The chunks of one tensor: a run of the pool, all of the same dimensions. Further chunks that did not fit into it stand behind. */
export class ChunkRun implements Chunks {
  readonly #pool: ChunkPool;
  readonly #start: number;
  readonly #dimensions: number;
  #count = 0;

  constructor(pool: ChunkPool, dimensions: number) {
    this.#pool = pool;
    this.#start = pool.end;
    this.#dimensions = dimensions;
  }

  get length(): number {
    return this.#count;
  }

  /** False when another tensor's chunks came in between, so that no more can be added. */
  get continues(): boolean {
    return this.#pool.end === this.#start + this.#count * 2 * this.#dimensions;
  }

  push(chunk: Chunk): void {
    this.#pool.push(chunk);
    this.#count++;
  }

  fits({ offsets, sizes }: Chunk): boolean {
    return offsets.length === this.#dimensions && sizes.length === this.#dimensions;
  }

  at(index: number): Chunk {
    const start = this.#start + index * 2 * this.#dimensions;
    return {
      offsets: this.#pool.numbers(start, this.#dimensions),
      sizes: this.#pool.numbers(start + this.#dimensions, this.#dimensions),
    };
  }

  offsets(index: number): readonly number[] {
    return this.#pool.numbers(this.#start + index * 2 * this.#dimensions, this.#dimensions);
  }

  volume(index: number): number {
    return this.#pool.product(this.#start + (index * 2 + 1) * this.#dimensions, this.#dimensions);
  }
}

/** Two lists of chunks as one. */
export function joinChunks(first: Chunks, second: Chunks): Chunks {
  if (second.length === 0) return first;
  return {
    length: first.length + second.length,
    at: (index) => (index < first.length ? first.at(index) : second.at(index - first.length)),
    offsets: (index) => (index < first.length ? first.offsets(index) : second.offsets(index - first.length)),
    volume: (index) => (index < first.length ? first.volume(index) : second.volume(index - first.length)),
  };
}

/** Chunks that are held as objects. */
export function chunkList(chunks: readonly Chunk[]): Chunks {
  const at = (index: number) => chunks[index] as Chunk;
  return { length: chunks.length, at, offsets: (index) => at(index).offsets, volume: (index) => volume(at(index).sizes) };
}
