import { excerpt } from '../../core/printable.ts';
import { Fault } from '../reading/fault.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import { SequentialReader } from '../../bytes/source/sequential-reader.ts';
import { TENSOR_TYPES, type TensorType } from './tensor-types.ts';
import { ValueReader } from './values.ts';

const WINDOW_BYTES = 64 * 1024;
const MAX_NAME_BYTES = 1024;
const MAX_NAME_BYTES_IN_ALL = 32 * 1024 * 1024;
const MAX_DIMENSIONS = 8;
/** Most tensors, and most keys; the largest models have some thousand. */
const MAX_COUNT = 250_000;
const DEFAULT_ALIGNMENT = 32;
/**
 * Smallest forms of a key with its value and of a tensor's description: what a count must at least
 * be good for.
 */
const MIN_PAIR_BYTES = 13;
const MIN_TENSOR_BYTES = 24;

/** The entry of one tensor in a GGUF header. */
export interface TensorInfo {
  readonly name: string;
  readonly type: TensorType;
  /** From the start of the data. */
  readonly offset: number;
  readonly bytes: number;
  /** Where it is described. */
  readonly describedAt: number;
}

/** The parsed header of a GGUF file. */
export interface Header {
  readonly version: number;
  readonly alignment: number;
  /** The integers among the values, by key. */
  readonly integers: ReadonlyMap<string, number>;
  readonly tensors: readonly TensorInfo[];
  /** Where the tensors begin. */
  readonly dataStart: number;
}

/** Parses everything before the tensor data. Throws a {@link Fault}. */
export function readHeader(source: ByteSource): Header {
  const start = source.read(0, 8);
  if (start.length < 8) throw new Fault('GGUF_TRUNCATED', `the file ends inside its header, after ${start.length} bytes`, { offset: 0 });
  // The magic is the same in both byte orders; a version whose low half is zero was written in the
  // other one.
  const isBigEndian = start.readUInt16LE(4) === 0;
  const version = isBigEndian ? start.readUInt32BE(4) : start.readUInt32LE(4);
  if (version !== 2 && version !== 3) {
    throw new Fault('GGUF_VERSION_UNKNOWN', `the file says it is of version ${version}; 2 and 3 are known`, {
      offset: 4,
      expected: '2 or 3',
      found: String(version),
    });
  }
  const reader = new SequentialReader(source, WINDOW_BYTES);
  reader.skip(8);
  const values = new ValueReader(reader, isBigEndian);
  const tensorCount = readCount(values, source, 'tensors', MIN_TENSOR_BYTES);
  const pairCount = readCount(values, source, 'keys', MIN_PAIR_BYTES);
  const integers = readPairs(values, pairCount);
  const alignment = alignmentOf(integers);
  const tensors = readTensors(values, tensorCount);
  return { version, alignment, integers, tensors, dataStart: roundUp(values.position, alignment) };
}

/** The next multiple of a power of two. */
export function roundUp(value: number, alignment: number): number {
  return Math.ceil(value / alignment) * alignment;
}

function readCount(values: ValueReader, source: ByteSource, what: string, minBytes: number): number {
  const offset = values.position;
  const count = values.u64(`the number of ${what}`);
  if (count * minBytes > Math.max(source.size, 1024 * 1024)) {
    throw new Fault(
      'GGUF_HEADER_INVALID',
      `the file of ${source.size} bytes says it holds ${count} ${what}; each takes at least ${minBytes}`,
      {
        offset,
        found: String(count),
      },
    );
  }
  if (count > MAX_COUNT) {
    throw new Fault('LIMIT_EXCEEDED', `the file says it holds ${count} ${what}; at most ${MAX_COUNT} are read`, {
      offset,
      found: String(count),
    });
  }
  return count;
}

/** Takes names, which must differ and must not exhaust memory. */
class Names {
  readonly #seen = new Set<string>();
  #bytes = 0;

  add(name: string, what: string, offset: number): void {
    this.#bytes += name.length;
    if (this.#bytes > MAX_NAME_BYTES_IN_ALL) {
      throw new Fault('LIMIT_EXCEEDED', `the names of all ${what}s take more than ${MAX_NAME_BYTES_IN_ALL} bytes`, { offset });
    }
    if (this.#seen.has(name)) {
      throw new Fault('GGUF_NAME_REPEATED', `the header holds the ${what} ${excerpt(name)} twice`, { offset, found: excerpt(name) });
    }
    this.#seen.add(name);
  }
}

function readPairs(values: ValueReader, count: number): Map<string, number> {
  const names = new Names();
  const integers = new Map<string, number>();
  for (let i = 0; i < count; i++) {
    const offset = values.position;
    const key = values.text(`key ${i}`, MAX_NAME_BYTES * 64);
    names.add(key, 'key', offset);
    const type = values.u32(`the type of ${excerpt(key)}`);
    const value = values.value(type, excerpt(key));
    if (value !== null && integers.size < 10_000) integers.set(key, value);
  }
  return integers;
}

function alignmentOf(integers: ReadonlyMap<string, number>): number {
  const alignment = integers.get('general.alignment') ?? DEFAULT_ALIGNMENT;
  const isPowerOfTwo = alignment > 0 && alignment <= 2 ** 31 && Number.isInteger(Math.log2(alignment));
  if (!isPowerOfTwo) {
    throw new Fault('GGUF_HEADER_INVALID', `general.alignment is ${alignment}; it must be a power of two`, { found: String(alignment) });
  }
  return alignment;
}

function readTensors(values: ValueReader, count: number): TensorInfo[] {
  const names = new Names();
  const tensors: TensorInfo[] = [];
  for (let i = 0; i < count; i++) {
    const describedAt = values.position;
    const name = values.text(`the name of tensor ${i}`, MAX_NAME_BYTES);
    names.add(name, 'tensor', describedAt);
    tensors.push({ name, describedAt, ...readShape(values, name) });
  }
  return tensors;
}

function readShape(values: ValueReader, name: string): { readonly type: TensorType; readonly offset: number; readonly bytes: number } {
  const shown = excerpt(name);
  const offset = values.position;
  const rank = values.u32(`the rank of ${shown}`);
  if (rank > MAX_DIMENSIONS) {
    throw new Fault('GGUF_HEADER_INVALID', `tensor ${shown} has ${rank} dimensions; at most ${MAX_DIMENSIONS} make sense`, {
      offset,
      found: String(rank),
    });
  }
  const shape = Array.from({ length: rank }, () => values.u64(`the shape of ${shown}`));
  const typeAt = values.position;
  const typeNumber = values.u32(`the type of ${shown}`);
  const type = TENSOR_TYPES.get(typeNumber);
  if (type === undefined) {
    throw new Fault('GGUF_TYPE_UNKNOWN', `tensor ${shown} has the type ${typeNumber}, whose size is not known`, {
      offset: typeAt,
      found: String(typeNumber),
    });
  }
  const row = shape[0] ?? 1;
  if (row % type.blockElements !== 0) {
    throw new Fault(
      'GGUF_HEADER_INVALID',
      `rows of tensor ${shown} have ${row} elements, not a multiple of ${type.blockElements} as ${type.name} needs`,
      {
        offset,
        found: String(row),
      },
    );
  }
  const elements = shape.reduce((product, size) => product * size, 1);
  return { type, offset: values.u64(`the offset of ${shown}`), bytes: (elements / type.blockElements) * type.blockBytes };
}
