import { countOf, elementSize } from './element-size.ts';
import { parseLiteral } from './literal.ts';

/** The first bytes of every `.npy` file. */
export const NPY_MAGIC = Buffer.from('\x93NUMPY', 'latin1');
/** Enough for the header of almost every array: NumPy pads it to a multiple of 64. */
const USUAL_HEADER = 128;
/** The longest header; NumPy itself refuses longer ones by default. */
const LONGEST_HEADER = 1024 * 1024;

/** The parsed header of an array. */
export interface ArrayHeader {
  readonly descr: string;
  readonly shape: readonly number[];
  /** Offset of the first element. */
  readonly dataOffset: number;
  /** Bytes of all elements; null for an array of objects, whose length only its pickle knows. */
  readonly dataBytes: number | null;
}

/** Reads `length` bytes from the beginning of the array's file. */
export type HeadReader = (length: number) => Buffer;

/** The header of an array, or a description of its fault. */
export function readHeader(read: HeadReader): ArrayHeader | { readonly problem: string; readonly isCut: boolean } {
  const head = read(USUAL_HEADER);
  if (!head.subarray(0, NPY_MAGIC.length).equals(NPY_MAGIC))
    return { problem: 'does not begin with the magic of an array', isCut: head.length < 6 };
  if (head.length < 12) return { problem: 'ends inside the header', isCut: true };
  const major = head[6] as number;
  if (major < 1 || major > 3) return { problem: `has version ${major} of the format; there are 1 to 3`, isCut: false };
  const start = major === 1 ? 10 : 12;
  const length = major === 1 ? head.readUInt16LE(8) : head.readUInt32LE(8);
  if (length > LONGEST_HEADER) return { problem: `has a header of ${length} bytes; at most ${LONGEST_HEADER} are read`, isCut: false };
  const all = start + length <= head.length ? head : read(start + length);
  if (all.length < start + length) return { problem: 'ends inside the header', isCut: true };
  return interpret(all.toString(major === 3 ? 'utf8' : 'latin1', start, start + length), start + length);
}

function interpret(text: string, dataOffset: number): ReturnType<typeof readHeader> {
  const fields = parseLiteral(text);
  const invalid = (problem: string) => ({ problem, isCut: false });
  if (!(fields instanceof Map)) return invalid('has a header that is no dictionary');
  const [descr, shape, order] = [fields.get('descr'), fields.get('shape'), fields.get('fortran_order')];
  if (fields.size !== 3 || typeof order !== 'boolean') return invalid('has a header without descr, fortran_order and shape');
  const size = elementSize(descr);
  const count = countOf(shape);
  if (size === null) return invalid('has an element type that NumPy does not know');
  if (count === null) return invalid('has an invalid shape');
  return {
    descr: typeof descr === 'string' ? descr : 'structure',
    shape: shape as readonly number[],
    dataOffset,
    dataBytes: size === 'object' ? null : size * count,
  };
}

/** Returns the number in an array with one element; null for any other array. */
export function scalarOf({ descr, dataBytes }: ArrayHeader, data: Buffer): number | null {
  const match = /^[<|=]?([iuf])([1248])$/.exec(descr);
  if (match === null || dataBytes !== Number(match[2]) || data.length < dataBytes) return null;
  if (match[1] === 'f') return dataBytes === 8 ? data.readDoubleLE() : dataBytes === 4 ? data.readFloatLE() : null;
  if (dataBytes === 8) return Number(match[1] === 'i' ? data.readBigInt64LE() : data.readBigUInt64LE());
  return match[1] === 'i' ? data.readIntLE(0, dataBytes) : data.readUIntLE(0, dataBytes);
}
