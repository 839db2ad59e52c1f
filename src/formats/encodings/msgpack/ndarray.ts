import { excerpt } from '../../../core/printable.ts';
import { Fault } from '../../reading/fault.ts';
import type { SequentialReader } from '../../../bytes/source/sequential-reader.ts';
import { readToken, take } from './token.ts';

/** numpy allows 64 dimensions. */
const MAX_RANK = 64;
const MAX_NAME_BYTES = 256;

/** An array as Flax packs it: shape, name of the element type, bytes. The bytes are not read. */
export interface PackedArray {
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly elements: number;
  /** Offset of its bytes. */
  readonly offset: number;
  readonly bytes: number;
}

/**
 * Bytes of an element, by numpy's name of the type; null for types without a fixed width known here
 * (`str160`, `void64`).
 */
export function itemBytes(dtype: string): number | null {
  if (/^(bool|u?int[248]|float[468]_\w+)$/.test(dtype)) return 1;
  if (dtype === 'bfloat16') return 2;
  const sized = /^(?:u?int|float|complex)(16|32|64|128|256)$/.exec(dtype);
  return sized === null ? null : Number(sized[1]) / 8;
}

/**
 * Reads the head of an array whose extension begins here; its bytes are next. Throws a {@link
 * Fault}.
 */
export function readArrayHead(reader: SequentialReader): PackedArray {
  const offset = reader.position;
  const triple = readToken(reader);
  if (triple.kind !== 'array' || triple.length !== 3) invalid(offset, 'a packed array is not a triple of shape, type and bytes');
  const shape = readShape(reader);
  const name = readToken(reader);
  if ((name.kind !== 'text' && name.kind !== 'binary') || name.length > MAX_NAME_BYTES)
    invalid(offset, 'a packed array does not name its element type');
  const dtype = take(reader, name.length).toString('latin1');
  const data = readToken(reader);
  if (data.kind !== 'binary' && data.kind !== 'text') invalid(offset, `a packed array of ${excerpt(dtype)} holds no bytes`);
  const elements = shape.reduce((product, size) => product * size, 1);
  return { shape, dtype, elements, offset: reader.position, bytes: data.length };
}

/** Checks that the array fills its extension, and that its bytes fill its shape. */
export function checkArray(array: PackedArray, extensionEnd: number, nameOf: () => string): void {
  const { shape, dtype, elements, offset, bytes } = array;
  if (offset + bytes !== extensionEnd) {
    throw new Fault('MSGPACK_ARRAY_SIZE', `array ${nameOf()} ends at ${offset + bytes}, the value that holds it at ${extensionEnd}`, {
      offset,
      expected: String(extensionEnd),
      found: String(offset + bytes),
    });
  }
  const width = itemBytes(dtype);
  const fits = width === null ? elements === 0 || bytes % elements === 0 : elements * width === bytes;
  if (fits) return;
  const expected = width === null ? `a multiple of ${elements}` : `${elements * width}`;
  throw new Fault(
    'MSGPACK_ARRAY_SIZE',
    `array ${nameOf()} of shape (${shape.join(', ')}) and type ${excerpt(dtype)} needs ${expected} bytes, it has ${bytes}`,
    {
      offset,
      expected: `${expected} bytes`,
      found: `${bytes} bytes`,
    },
  );
}

function readShape(reader: SequentialReader): number[] {
  const offset = reader.position;
  const token = readToken(reader);
  if (token.kind !== 'array' || token.length > MAX_RANK) invalid(offset, 'a packed array has no shape');
  return Array.from({ length: token.length }, () => {
    const size = readToken(reader);
    if (size.kind !== 'integer' || size.value < 0) invalid(offset, 'the shape of a packed array is not made of sizes');
    return size.value;
  });
}

function invalid(offset: number, reason: string): never {
  throw new Fault('MSGPACK_INVALID', `${reason}, at byte ${offset}`, { offset });
}
