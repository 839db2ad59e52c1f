import { NumberColumn } from '../../bytes/number-column.ts';

/** A box inside a tensor: its first element and its extent in every dimension. */
export interface Chunk {
  readonly offsets: readonly number[];
  readonly sizes: readonly number[];
}

/** A list of boxes, read one at a time. */
export interface Chunks {
  readonly length: number;
  at(index: number): Chunk;
  /** Offset of the chunk's first element. */
  offsets(index: number): readonly number[];
  /** Number of elements in the chunk. */
  volume(index: number): number;
}

/** Returns the number of elements in a box. */
export function volume(sizes: readonly number[]): number {
  return sizes.includes(0) ? 0 : sizes.reduce((product, size) => product * size, 1);
}

/** The chunks of very many tensors, one after another, as plain numbers. */
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

/**
 * The chunks of one tensor: a run of the pool, all with the same number of dimensions. Chunks that
 * do not fit the run follow in a separate list.
 */
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

  /** False when another tensor's chunks follow the run, so that it can hold no more. */
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

/** Presents two lists of chunks as one. */
export function joinChunks(first: Chunks, second: Chunks): Chunks {
  if (second.length === 0) return first;
  return {
    length: first.length + second.length,
    at: (index) => (index < first.length ? first.at(index) : second.at(index - first.length)),
    offsets: (index) => (index < first.length ? first.offsets(index) : second.offsets(index - first.length)),
    volume: (index) => (index < first.length ? first.volume(index) : second.volume(index - first.length)),
  };
}

/** Chunks that are stored as objects. */
export function chunkList(chunks: readonly Chunk[]): Chunks {
  const at = (index: number) => chunks[index] as Chunk;
  return { length: chunks.length, at, offsets: (index) => at(index).offsets, volume: (index) => volume(at(index).sizes) };
}
