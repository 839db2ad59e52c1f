import type { Fields } from './field-widths.ts';

const MAX_RANK = 32;

/** The sizes of a dataset in its dimensions: empty for a single value, null for no value at all. */
export type Shape = readonly number[] | null;

/** Reads the dimensions from a dataspace message. */
export function readDataspace(fields: Fields): Shape {
  const version = fields.version(1, 2);
  const rank = fields.u8();
  fields.skip(1);
  if (rank > MAX_RANK) fields.fail(`it has ${rank} dimensions, at most ${MAX_RANK} exist`);
  if (version === 1) fields.skip(5);
  else if (fields.u8() === 2) return null;
  return Array.from({ length: rank }, () => fields.length());
}

/** The number of elements of a shape. */
export function elementCount(shape: Shape): number {
  return shape === null ? 0 : shape.reduce((product, size) => product * size, 1);
}
