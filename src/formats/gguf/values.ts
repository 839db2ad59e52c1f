import { Fault } from '../reading/fault.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import type { SequentialReader } from '../../bytes/source/sequential-reader.ts';

/**
 * Longest single string a header may hold; the longest in real models are chat templates of some
 * hundred kilobytes.
 */
const MAX_STRING_BYTES = 16 * 1024 * 1024;
/**
 * Most strings and nested arrays in all arrays together; vocabularies have some hundred thousand.
 */
const MAX_ELEMENTS = 8_000_000;

const STRING = 8;
const ARRAY = 9;
/** Bytes of a value by its type; strings and arrays carry their own length. */
const SCALAR_BYTES: ReadonlyMap<number, number> = new Map([
  [0, 1],
  [1, 1],
  [2, 2],
  [3, 2],
  [4, 4],
  [5, 4],
  [6, 4],
  [7, 1],
  [10, 8],
  [11, 8],
  [12, 8],
]);
const UNSIGNED = new Set([0, 2, 4, 10]);
const SIGNED = new Set([1, 3, 5, 11]);

/**
 * Reads the header of a GGUF file: integers in the byte order of the file, strings, and values that
 * are mostly passed over.
 */
export class ValueReader {
  readonly #reader: SequentialReader;
  readonly #isBigEndian: boolean;
  #elements = 0;

  constructor(reader: SequentialReader, isBigEndian: boolean) {
    this.#reader = reader;
    this.#isBigEndian = isBigEndian;
  }

  get position(): number {
    return this.#reader.position;
  }

  u32(what: string): number {
    const bytes = this.#take(4, what);
    return this.#isBigEndian ? bytes.readUInt32BE(0) : bytes.readUInt32LE(0);
  }

  /** Infinity where a number cannot hold it exactly, so that every bounds check fails on it. */
  u64(what: string): number {
    const bytes = this.#take(8, what);
    const value = this.#isBigEndian ? bytes.readBigUInt64BE(0) : bytes.readBigUInt64LE(0);
    return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : Number.POSITIVE_INFINITY;
  }

  text(what: string, maxBytes: number): string {
    const offset = this.position;
    const length = this.u64(`the length of ${what}`);
    if (length > maxBytes) {
      throw new Fault('GGUF_HEADER_INVALID', `the length of ${what} is ${length} bytes; at most ${maxBytes} make sense`, {
        offset,
        expected: `at most ${maxBytes}`,
        found: String(length),
      });
    }
    return this.#take(length, what).toString('utf8');
  }

  /** Reads past a value of the type; an integer is returned, anything else is null. */
  value(type: number, what: string): number | null {
    const width = SCALAR_BYTES.get(type);
    if (width === undefined) {
      this.#pass(type, what, 0);
      return null;
    }
    const bytes = this.#take(width, what);
    if (UNSIGNED.has(type))
      return width === 8 ? Number(this.#wide(bytes)) : this.#isBigEndian ? bytes.readUIntBE(0, width) : bytes.readUIntLE(0, width);
    if (SIGNED.has(type))
      return width === 8
        ? Number(BigInt.asIntN(64, this.#wide(bytes)))
        : this.#isBigEndian
          ? bytes.readIntBE(0, width)
          : bytes.readIntLE(0, width);
    return null;
  }

  #wide(bytes: Buffer): bigint {
    return this.#isBigEndian ? bytes.readBigUInt64BE(0) : bytes.readBigUInt64LE(0);
  }

  #pass(type: number, what: string, depth: number): void {
    const width = SCALAR_BYTES.get(type);
    if (width !== undefined) this.#skip(width, what);
    else if (type === STRING) this.#passString(what);
    else if (type === ARRAY) this.#passArray(what, depth);
    else {
      throw new Fault('GGUF_HEADER_INVALID', `${what} has the value type ${type}; the format knows 0 to 12`, {
        offset: this.position,
        expected: '0 to 12',
        found: String(type),
      });
    }
  }

  #passString(what: string): void {
    const offset = this.position;
    const length = this.u64(`the length of ${what}`);
    if (length > MAX_STRING_BYTES) {
      throw new Fault('GGUF_HEADER_INVALID', `${what} holds a string of ${length} bytes; at most ${MAX_STRING_BYTES} make sense`, {
        offset,
        expected: `at most ${MAX_STRING_BYTES}`,
        found: String(length),
      });
    }
    this.#skip(length, what);
  }

  #passArray(what: string, depth: number): void {
    if (depth > LIMITS.depth)
      throw new Fault('LIMIT_EXCEEDED', `${what} nests arrays deeper than ${LIMITS.depth}`, { offset: this.position });
    const type = this.u32(`the element type of ${what}`);
    const offset = this.position;
    const count = this.u64(`the length of ${what}`);
    const width = SCALAR_BYTES.get(type);
    if (width !== undefined) {
      this.#skip(count * width, what);
      return;
    }
    this.#elements += count;
    if (this.#elements > MAX_ELEMENTS) {
      throw new Fault('LIMIT_EXCEEDED', `the arrays up to ${what} hold more than ${MAX_ELEMENTS} elements`, {
        offset,
        found: String(count),
      });
    }
    for (let i = 0; i < count; i++) this.#pass(type, what, depth + 1);
  }

  #take(length: number, what: string): Buffer {
    return this.#reader.take(length) ?? this.#endsInside(length, what);
  }

  #skip(length: number, what: string): void {
    if (!this.#reader.skip(length)) this.#endsInside(length, what);
  }

  #endsInside(length: number, what: string): never {
    const left = this.#reader.remaining;
    throw new Fault('GGUF_TRUNCATED', `the file ends inside its header: ${what} needs ${length} bytes, ${left} are left`, {
      offset: this.position,
      expected: `${length} bytes`,
      found: `${left} bytes`,
    });
  }
}
