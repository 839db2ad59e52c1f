import { excerpt, printable } from '../../core/printable.ts';
import { needOfKey } from '../reading/content-names.ts';
import type { Findings } from '../reading/findings.ts';
import { type ByteSource, memorySource } from '../../bytes/source/byte-source.ts';
import { parseArrayMetadata, type ZarrArray } from '../encodings/zarr/array-metadata.ts';
import { type ChunkProblem, inspectChunk, readScalar } from '../encodings/zarr/chunk.ts';

/**
 * Structures of chunks looked at in one item; a chunk more costs a read, and past this many only
 * their places are compared.
 */
const MAX_LOOKS = 100_000;
/**
 * Chunks kept until the description of their array comes, which in a sorted store may be after
 * them.
 */
const MAX_WAITING = 20_000;
const MAX_ARRAYS = 200_000;
const MAX_NAME_CHARACTERS = 16 * 1024 * 1024;
/** Descriptions that make no sense; past this many no more are looked at. */
const MAX_INVALID = 1000;
const MAX_METADATA_BYTES = 64 * 1024;

interface StoredArray {
  metadata: ZarrArray | null;
  chunks: number;
  /**
   * The largest coordinate along each dimension. With the count it tells whether the grid is full.
   */
  largest: number[];
  waiting: ByteSource[];
  /** The first chunk of an array that may be the step. */
  scalar: ByteSource | null;
}

/** Names under which trainers keep their step: the last key, whatever leads to it. */
function mayBeStep(name: string): boolean {
  return needOfKey(name.slice(Math.max(name.lastIndexOf('.'), name.lastIndexOf('/')) + 1)) === 'step';
}

/** The arrays that are stored in an item, whatever they are stored in, gathered key by key. */
export class ArrayStore {
  readonly #arrays = new Map<string, StoredArray>();
  readonly #findings: Findings;
  readonly #version: 2 | 3;
  #looks = 0;
  #invalid = 0;
  #nameCharacters = 0;
  #waiting = 0;

  constructor(findings: Findings, version: 2 | 3) {
    this.#findings = findings;
    this.#version = version;
  }

  has(name: string): boolean {
    return this.#arrays.has(name);
  }

  addMetadata(name: string, source: ByteSource): void {
    const { file, base: offset } = source;
    const array = this.#array(name, file);
    if (array === null || this.#invalid > MAX_INVALID) return;
    const text = source.size > MAX_METADATA_BYTES ? null : source.read(0, source.size).toString('utf8');
    const metadata = text === null ? `it has ${source.size} bytes` : parseArrayMetadata(text, this.#version);
    if (typeof metadata === 'string') {
      this.#invalid++;
      const message = `${printable(file)}: the description of ${excerpt(name)} cannot be understood: ${excerpt(metadata)}`;
      this.#findings.add('ORBAX_ARRAY_INVALID', { file, offset }, message);
      return;
    }
    array.metadata = metadata;
    for (const chunk of array.waiting) this.#look(name, chunk, metadata);
    this.#waiting -= array.waiting.length;
    array.waiting = [];
  }

  /**
   * Notes a chunk; null when its bytes are not there. `isVouched`: a checksum that was compared
   * covers it, so its structure need not be looked at.
   */
  addChunk(name: string, at: readonly number[], { source, isVouched }: { source: ByteSource | null; isVouched: boolean }): void {
    const array = this.#array(name, source?.file ?? name);
    if (array === null) return;
    array.chunks++;
    for (const [i, coordinate] of at.entries()) array.largest[i] = Math.max(array.largest[i] ?? 0, coordinate);
    if (source === null) return;
    if (array.chunks === 1 && mayBeStep(name)) array.scalar = keepSmall(source);
    if (isVouched) return;
    if (array.metadata !== null) this.#look(name, source, array.metadata);
    else if (this.#waiting < MAX_WAITING) {
      this.#waiting++;
      array.waiting.push(source);
    }
  }

  /** The whole number in a scalar array, or null. */
  scalarOf(name: string): { readonly value: number; readonly file: string } | null {
    const array = this.#arrays.get(name);
    if (array === undefined || array.metadata === null || array.scalar === null) return null;
    const value = readScalar(array.scalar, array.metadata);
    return value === null ? null : { value, file: array.scalar.file };
  }

  /** After the last key: are all chunks of every array there? `where` is the item, for evidence. */
  report(where: string, storesEveryChunk: boolean): void {
    for (const [name, array] of this.#arrays) {
      if (array.metadata === null) {
        const message = `${printable(where)}: ${excerpt(name)} has chunks, but nothing describes it`;
        this.#findings.add('ORBAX_ARRAY_MISSING', { file: where }, message);
      } else if (storesEveryChunk && !isComplete(array, array.metadata)) {
        const sizes = { file: where, expected: `${array.metadata.chunks} chunks`, found: `${array.chunks} chunks` };
        const message = `${printable(where)}: ${excerpt(name)} has ${array.chunks} of its ${array.metadata.chunks} chunks`;
        this.#findings.add('ORBAX_CHUNK_MISSING', sizes, message);
      }
    }
  }

  #look(name: string, source: ByteSource, metadata: ZarrArray): void {
    if (++this.#looks > MAX_LOOKS) return;
    const problem = inspectChunk(source, metadata);
    if (problem !== null) this.#reportChunk(name, source, problem);
  }

  #reportChunk(name: string, { file, base }: ByteSource, { kind, says, ...seen }: ChunkProblem): void {
    const code = kind === 'cut' ? 'ORBAX_CHUNK_CUT' : 'ORBAX_CHUNK_CORRUPT';
    this.#findings.add(code, { file, offset: base, ...seen }, `${printable(file)}: a chunk of ${excerpt(name)} ${says}`);
  }

  #array(name: string, file: string): StoredArray | null {
    const known = this.#arrays.get(name);
    if (known !== undefined) return known;
    this.#nameCharacters += name.length;
    if (this.#arrays.size >= MAX_ARRAYS || this.#nameCharacters > MAX_NAME_CHARACTERS) {
      if (!this.#findings.has('LIMIT_EXCEEDED')) {
        this.#findings.add(
          'LIMIT_EXCEEDED',
          { file },
          `more than ${MAX_ARRAYS} arrays, or longer names than are kept, are stored here; the rest was not checked`,
        );
      }
      return null;
    }
    const array: StoredArray = { metadata: null, chunks: 0, largest: [], waiting: [], scalar: null };
    this.#arrays.set(name, array);
    return array;
  }
}

/**
 * Keys are distinct, so as many as the grid has, all inside it, are all of them. A scalar's chunk
 * is `0` in version 2 and has no number in 3.
 */
function isComplete({ chunks, largest }: StoredArray, { grid, chunks: expected }: ZarrArray): boolean {
  const isInside = largest.every((coordinate, i) => coordinate < (grid[i] ?? (grid.length === 0 ? 1 : 0)));
  return chunks === expected && isInside;
}

/**
 * A copy, so that what it was cut from need not stay in memory; null when it is too large for a
 * number.
 */
function keepSmall(source: ByteSource): ByteSource | null {
  return source.size > 256 ? null : memorySource(Buffer.from(source.read(0, source.size)), source.file, source.base);
}
