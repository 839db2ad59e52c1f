import { Fault } from '../../reading/fault.ts';
import type { SequentialReader } from '../../../bytes/source/sequential-reader.ts';

/**
 * The head of one msgpack value. The bytes of text, binary and extensions follow it, as do the
 * members of arrays and maps.
 */
export type Token =
  | { readonly kind: 'integer'; readonly value: number }
  | { readonly kind: 'other' }
  | { readonly kind: 'text' | 'binary'; readonly length: number }
  | { readonly kind: 'extension'; readonly length: number; readonly type: number }
  | { readonly kind: 'array' | 'map'; readonly length: number };

/**
 * Reads the head of the next value. Throws a {@link Fault} when the source ends or the byte is
 * invalid.
 */
export function readToken(reader: SequentialReader): Token {
  const offset = reader.position;
  const first = take(reader, 1).readUInt8(0);
  const token = shortToken(first) ?? longToken(first, reader);
  if (token !== null) return token;
  throw new Fault('MSGPACK_INVALID', `byte ${offset} is 0x${first.toString(16)}, which begins no value`, {
    offset,
    found: `0x${first.toString(16)}`,
  });
}

/** Returns the next bytes; throws a fault with the source's end when they are missing. */
export function take(reader: SequentialReader, length: number): Buffer {
  return reader.take(length) ?? endsInside(reader, length);
}

/** Skips this many bytes. */
export function skip(reader: SequentialReader, length: number): void {
  if (!reader.skip(length)) endsInside(reader, length);
}

function endsInside(reader: SequentialReader, length: number): never {
  const offset = reader.position;
  const left = reader.remaining;
  throw new Fault('MSGPACK_TRUNCATED', `the value at byte ${offset} needs ${length} bytes, the file has ${left} left`, {
    offset,
    expected: `${length} bytes`,
    found: `${left} bytes`,
  });
}

function shortToken(first: number): Token | null {
  if (first <= 0x7f) return { kind: 'integer', value: first };
  if (first <= 0x8f) return { kind: 'map', length: first & 0x0f };
  if (first <= 0x9f) return { kind: 'array', length: first & 0x0f };
  if (first <= 0xbf) return { kind: 'text', length: first & 0x1f };
  if (first >= 0xe0) return { kind: 'integer', value: first - 256 };
  return null;
}

type Sized = 'text' | 'binary' | 'array' | 'map' | 'extension';

/** Kinds whose length is in the 1, 2 or 4 bytes after the first. */
const SIZED: ReadonlyMap<number, readonly [Sized, number]> = new Map([
  [0xc4, ['binary', 1]],
  [0xc5, ['binary', 2]],
  [0xc6, ['binary', 4]],
  [0xc7, ['extension', 1]],
  [0xc8, ['extension', 2]],
  [0xc9, ['extension', 4]],
  [0xd9, ['text', 1]],
  [0xda, ['text', 2]],
  [0xdb, ['text', 4]],
  [0xdc, ['array', 2]],
  [0xdd, ['array', 4]],
  [0xde, ['map', 2]],
  [0xdf, ['map', 4]],
]);

/** Nil, false, true and the two floats, with the number of bytes after the first. */
const OTHER: ReadonlyMap<number, number> = new Map([
  [0xc0, 0],
  [0xc2, 0],
  [0xc3, 0],
  [0xca, 4],
  [0xcb, 8],
]);

function longToken(first: number, reader: SequentialReader): Token | null {
  const sized = SIZED.get(first);
  if (sized !== undefined) {
    const [kind, width] = sized;
    const length = take(reader, width).readUIntBE(0, width);
    return kind === 'extension' ? extension(reader, length) : { kind, length };
  }
  if (first >= 0xd4 && first <= 0xd8) return extension(reader, 2 ** (first - 0xd4));
  if (first >= 0xcc && first <= 0xd3) return integer(reader, first);
  const otherBytes = OTHER.get(first);
  if (otherBytes === undefined) return null;
  skip(reader, otherBytes);
  return { kind: 'other' };
}

function extension(reader: SequentialReader, length: number): Token {
  return { kind: 'extension', length, type: take(reader, 1).readInt8(0) };
}

/** 0xcc…0xcf are unsigned of 1, 2, 4 and 8 bytes, 0xd0…0xd3 signed. */
function integer(reader: SequentialReader, first: number): Token {
  const isSigned = first >= 0xd0;
  const width = 2 ** ((first - 0xcc) % 4);
  const bytes = take(reader, width);
  if (width === 8) return { kind: 'integer', value: Number(isSigned ? bytes.readBigInt64BE(0) : bytes.readBigUInt64BE(0)) };
  return { kind: 'integer', value: isSigned ? bytes.readIntBE(0, width) : bytes.readUIntBE(0, width) };
}
