import type { Fields } from './field-widths.ts';

const INTEGER = 0;
const COMPOUND = 6;
const VARIABLE_LENGTH = 9;
const ARRAY = 10;

/** The fields of an element type that the reader needs. */
export interface Datatype {
  /** Bytes of one element. */
  readonly size: number;
  /** Set for integers of at most eight bytes. */
  readonly integer: { readonly isBigEndian: boolean; readonly isSigned: boolean } | null;
  /** True when elements may be references to bytes elsewhere in the file. */
  readonly mayRefer: boolean;
}

/** Reads a datatype message. */
export function readDatatype(fields: Fields): Datatype {
  const head = fields.u8();
  const version = head >> 4;
  const kind = head & 0x0f;
  if (version < 1 || version > 5) fields.fail(`its version is ${version}, known are 1 to 5`);
  const bits = fields.u8();
  fields.skip(2);
  const size = fields.u32();
  const isInteger = kind === INTEGER && size >= 1 && size <= 8;
  return {
    size,
    integer: isInteger ? { isBigEndian: (bits & 1) !== 0, isSigned: (bits & 8) !== 0 } : null,
    // Members of a compound or an array can have variable length. Only the whole type would show
    // it, and weights have no such types.
    mayRefer: kind === VARIABLE_LENGTH || kind === COMPOUND || kind === ARRAY,
  };
}

/** Returns the integer in the bytes of one element. */
export function integerValue({ integer, size }: Datatype, bytes: Buffer): number | null {
  if (integer === null || bytes.length < size) return null;
  const { isBigEndian, isSigned } = integer;
  if (size > 6) {
    if (size !== 8) return null;
    const wide = isBigEndian ? bytes.readBigInt64BE(0) : bytes.readBigInt64LE(0);
    return Number(isSigned ? wide : BigInt.asUintN(64, wide));
  }
  if (isSigned) return isBigEndian ? bytes.readIntBE(0, size) : bytes.readIntLE(0, size);
  return isBigEndian ? bytes.readUIntBE(0, size) : bytes.readUIntLE(0, size);
}
