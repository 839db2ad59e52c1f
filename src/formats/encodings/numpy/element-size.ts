import type { Literal } from './literal.ts';

/** `<f4`, `|S10`, `<M8[ns]`: byte order, kind, count, unit. */
const SIMPLE = /^[<>|=]?([?bBiufcSaUVOmM])(\d{0,9})(\[[^\]]*\])?$/;
const WIDTHS: Readonly<Record<string, readonly number[]>> = {
  b: [1],
  i: [1, 2, 4, 8],
  u: [1, 2, 4, 8],
  f: [2, 4, 8, 10, 12, 16],
  c: [8, 16, 20, 24, 32],
  m: [8],
  M: [8],
};

/**
 * Returns how many bytes one element takes; `object` when it is a reference to a Python object;
 * null for a type unknown to NumPy.
 */
export function elementSize(descr: Literal | undefined): number | 'object' | null {
  if (typeof descr === 'string') return simpleSize(descr);
  return Array.isArray(descr) ? structureSize(descr) : null;
}

function simpleSize(descr: string): number | 'object' | null {
  const match = SIMPLE.exec(descr);
  if (match === null) return null;
  const kind = match[1] as string;
  if (kind === 'O') return 'object';
  if (kind === '?') return 1;
  const count = match[2] === '' ? null : Number(match[2]);
  if (count === null) return kind === 'b' || kind === 'B' ? 1 : null;
  if (kind === 'U') return count * 4;
  const widths = WIDTHS[kind];
  return widths === undefined || widths.includes(count) ? count : null;
}

/**
 * Reads a structured type: fields of (name, type) or (name, type, shape), in order, padding
 * included.
 */
function structureSize(fields: readonly Literal[]): number | 'object' | null {
  let total = 0;
  for (const field of fields) {
    if (!Array.isArray(field)) return null;
    const size = elementSize(field[1] as Literal);
    if (size === null || size === 'object') return size;
    const count = field.length < 3 ? 1 : countOf(shapeOf(field[2] as Literal));
    if (count === null) return null;
    total += size * count;
  }
  return total;
}

function shapeOf(value: Literal | undefined): Literal | undefined {
  return typeof value === 'number' ? [value] : value;
}

/**
 * Returns the product of a shape; null when the value is not a shape. Too large a product is
 * Infinity or inexact, and fails every comparison with a size.
 */
export function countOf(shape: Literal | undefined): number | null {
  if (!Array.isArray(shape) || shape.length > 64) return null;
  let product = 1;
  for (const size of shape as readonly Literal[]) {
    if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) return null;
    product *= size;
  }
  return product;
}
