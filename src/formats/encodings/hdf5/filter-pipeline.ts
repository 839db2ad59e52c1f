import type { Fields } from './field-widths.ts';

const MAX_FILTERS = 32;
const SHUFFLE = 2;
const FLETCHER32 = 3;

/** The filters of the chunks, in the order of writing. */
export type Pipeline = readonly number[];

/** Reads a filter pipeline message. */
export function readPipeline(fields: Fields): Pipeline {
  const version = fields.version(1, 2);
  const count = fields.u8();
  if (count > MAX_FILTERS) fields.fail(`it has ${count} filters, at most ${MAX_FILTERS} exist`);
  if (version === 1) fields.skip(6);
  return Array.from({ length: count }, () => readFilter(fields, version));
}

function readFilter(fields: Fields, version: number): number {
  const id = fields.u16();
  const nameBytes = version === 1 || id >= 256 ? fields.u16() : 0;
  fields.skip(2);
  const parameters = fields.u16();
  // Version 1 pads the name to eight bytes and the parameters to an even number.
  fields.skip(version === 1 ? Math.ceil(nameBytes / 8) * 8 : nameBytes);
  fields.skip(4 * (version === 1 ? parameters + (parameters % 2) : parameters));
  return id;
}

/**
 * True when a stored chunk ends with its Fletcher-32: the filter came last, and the writer did not
 * skip it for this chunk.
 */
export function endsWithChecksum(pipeline: Pipeline, filterMask: number): boolean {
  const last = pipeline.length - 1;
  return pipeline[last] === FLETCHER32 && (filterMask & (1 << last)) === 0;
}

/** By how many bytes the filters lengthen a chunk; null when they may compress it. */
export function fixedGrowth(pipeline: Pipeline, filterMask: number): number | null {
  let growth = 0;
  for (const [index, id] of pipeline.entries()) {
    if ((filterMask & (1 << index)) !== 0) continue;
    if (id === FLETCHER32) growth += 4;
    else if (id !== SHUFFLE) return null;
  }
  return growth;
}
