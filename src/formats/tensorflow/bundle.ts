import { readFields } from './protobuf.ts';

/**
 * The first entry of an index: how many data files there are, and in which byte order their numbers
 * are.
 */
export interface BundleHeader {
  readonly shards: number;
  readonly isBigEndian: boolean;
}

/** What the index says about one tensor, or about one slice of a partitioned one. */
export interface BundleEntry {
  readonly dtype: number;
  /** Product of the shape; Infinity when that is no exact number. */
  readonly elements: number;
  readonly rank: number;
  readonly shard: number;
  readonly offset: number;
  readonly size: number;
  /** As stored: masked. */
  readonly checksum: number;
  /**
   * How many slices the tensor is stored in; 0 when it is stored whole. A sliced one has no bytes
   * of its own.
   */
  readonly slices: number;
}

/** Reads the header message of a bundle; null when it is invalid. */
export function readHeader(message: Buffer): BundleHeader | null {
  const header = { shards: 0, isBigEndian: false };
  const isMessage = readFields(message, ({ number, varint }) => {
    if (number === 1) header.shards = varint;
    if (number === 2) header.isBigEndian = varint === 1;
  });
  return isMessage ? header : null;
}

/** Reads the entry message of a tensor; null when it is invalid. */
export function readEntry(message: Buffer): BundleEntry | null {
  const entry = { dtype: 0, elements: 1, rank: 0, shard: 0, offset: 0, size: 0, checksum: 0, slices: 0 };
  let isSound = true;
  const isMessage = readFields(message, ({ number, varint, bytes }) => {
    if (number === 1) entry.dtype = varint;
    else if (number === 2) isSound &&= readShape(bytes, entry);
    else if (number === 3) entry.shard = varint;
    else if (number === 4) entry.offset = varint;
    else if (number === 5) entry.size = varint;
    else if (number === 6 && bytes.length === 4) entry.checksum = bytes.readUInt32LE(0);
    else if (number === 7) entry.slices++;
  });
  return isMessage && isSound ? entry : null;
}

function readShape(message: Buffer, into: { elements: number; rank: number }): boolean {
  let isSound = true;
  const isMessage = readFields(message, ({ number, bytes }) => {
    if (number !== 2) return;
    let size = 0;
    isSound &&= readFields(bytes, (field) => {
      if (field.number === 1) size = field.varint;
    });
    into.rank++;
    into.elements = size === 0 ? 0 : into.elements * size;
  });
  if (!Number.isSafeInteger(into.elements)) into.elements = Number.POSITIVE_INFINITY;
  return isMessage && isSound;
}

/** The TensorFlow numbers of the data types that the reader treats specially. */
export const DTYPE = { int32: 3, string: 7, int64: 9, variant: 21 } as const;

/**
 * Bytes per element by TensorFlow's number for the type; what is not listed (strings, variants,
 * handles) has no fixed width.
 */
const WIDTHS: readonly (readonly [width: number, ...dtypes: number[]])[] = [
  [1, 4, 6, 10, 11, 12, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33],
  [2, 5, 14, 15, 16, 17, 19],
  [4, 1, 3, 13, 22],
  [8, 2, 8, 9, 23],
  [16, 18],
];
const WIDTH_OF = new Map(WIDTHS.flatMap(([width, ...dtypes]) => dtypes.map((dtype) => [dtype, width] as const)));

/** Bytes one element takes, or null for types without a fixed width. */
export function widthOf(dtype: number): number | null {
  return WIDTH_OF.get(dtype) ?? null;
}

const FLOATING = new Set([1, 2, 8, 14, 18, 19, 24, 25, 26, 27, 28]);

/** Whether the data type is a floating-point type. */
export function isFloating(dtype: number): boolean {
  return FLOATING.has(dtype);
}
