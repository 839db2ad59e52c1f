import { ByteCursor } from '../../bytes/source/byte-cursor.ts';

/** Decodes one raw Snappy block; null when it is malformed or would grow beyond `maxBytes`. */
export function decodeSnappy(compressed: Buffer, maxBytes: number): Buffer | null {
  const cursor = new ByteCursor(compressed);
  const length = cursor.varint();
  if (cursor.failed || length > maxBytes) return null;
  const decoded = Buffer.alloc(length);
  let filled = 0;
  while (cursor.remaining > 0) {
    const tag = cursor.byte();
    filled = (tag & 3) === 0 ? copyLiteral(cursor, tag, decoded, filled) : copyEarlier(cursor, tag, decoded, filled);
    if (filled < 0 || cursor.failed) return null;
  }
  return !cursor.failed && filled === length ? decoded : null;
}

/** Appends bytes that follow in the input; returns the new fill, or -1. */
function copyLiteral(cursor: ByteCursor, tag: number, decoded: Buffer, filled: number): number {
  let length = tag >>> 2;
  if (length >= 60) {
    const width = length - 59;
    const bytes = cursor.take(width);
    if (cursor.failed) return -1;
    length = bytes.readUIntLE(0, width);
  }
  const literal = cursor.take(length + 1);
  if (cursor.failed || filled + literal.length > decoded.length) return -1;
  literal.copy(decoded, filled);
  return filled + literal.length;
}

/**
 * Repeats bytes that were decoded before, possibly overlapping what is being written; returns the
 * new fill, or -1.
 */
function copyEarlier(cursor: ByteCursor, tag: number, decoded: Buffer, filled: number): number {
  const { length, distance } = readCopy(cursor, tag);
  if (cursor.failed || distance === 0 || distance > filled || filled + length > decoded.length) return -1;
  for (let i = 0; i < length; i++) decoded[filled + i] = decoded[filled + i - distance] as number;
  return filled + length;
}

function readCopy(cursor: ByteCursor, tag: number): { length: number; distance: number } {
  if ((tag & 3) === 1) return { length: ((tag >>> 2) & 7) + 4, distance: (tag >>> 5) * 256 + cursor.byte() };
  const width = (tag & 3) === 2 ? 2 : 4;
  const bytes = cursor.take(width);
  return { length: (tag >>> 2) + 1, distance: cursor.failed ? 0 : bytes.readUIntLE(0, width) };
}
