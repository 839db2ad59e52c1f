import { ByteCursor } from '../../bytes/source/byte-cursor.ts';

/**
 * One field of a message: `varint` holds the number of a number field, `bytes` the content of a
 * text, a nested message or a fixed number.
 */
export interface Field {
  readonly number: number;
  readonly varint: number;
  readonly bytes: Buffer;
}

const NO_BYTES = Buffer.alloc(0);

/**
 * Visits the fields of a protobuf message in order; false when the bytes are not a message. Nested
 * messages are left to the visitor.
 */
export function readFields(message: Buffer, visit: (field: Field) => void): boolean {
  const cursor = new ByteCursor(message);
  while (cursor.remaining > 0) {
    const tag = cursor.varint();
    const number = Math.floor(tag / 8);
    if (number === 0 || !Number.isFinite(tag)) return false;
    const field = readValue(cursor, number, tag % 8);
    if (field === null || cursor.failed) return false;
    visit(field);
  }
  return !cursor.failed;
}

/**
 * The wire types in use: 0 number, 1 and 5 fixed width, 2 with a length; the others (groups) died
 * with proto2.
 */
function readValue(cursor: ByteCursor, number: number, wireType: number): Field | null {
  if (wireType === 0) return { number, varint: cursor.varint(), bytes: NO_BYTES };
  if (wireType === 1) return { number, varint: 0, bytes: cursor.take(8) };
  if (wireType === 2) return { number, varint: 0, bytes: cursor.take(cursor.varint()) };
  if (wireType === 5) return { number, varint: 0, bytes: cursor.take(4) };
  return null;
}
