import type { Fields } from './field-widths.ts';

const MAX_DIMENSIONS = 33;

/** Where and how the bytes of a dataset are stored. */
export type Layout =
  | { readonly kind: 'compact'; readonly at: number; readonly size: number }
  | { readonly kind: 'contiguous'; readonly address: number | null; readonly size: number | null }
  | { readonly kind: 'chunked'; readonly chunk: readonly number[]; readonly index: ChunkIndex; readonly leavesEdgesUnfiltered: boolean }
  | { readonly kind: 'virtual' };

/**
 * How to find the chunks of a dataset. `chunk` above gives their sizes, with the size of an element
 * last.
 */
export type ChunkIndex =
  | { readonly kind: 'single'; readonly address: number | null; readonly filtered: { readonly size: number; readonly mask: number } | null }
  | { readonly kind: 'tree-1' | 'implicit' | 'fixed-array' | 'extensible-array' | 'tree-2'; readonly address: number | null };

const CLASSES = ['compact', 'contiguous', 'chunked', 'virtual'] as const;

/** Reads a data layout message. */
export function readLayout(fields: Fields): Layout {
  const version = fields.version(1, 2, 3, 4, 5);
  if (version < 3) return readOldLayout(fields);
  const kind = CLASSES[fields.u8()] ?? fields.fail('its class is not known');
  switch (kind) {
    case 'compact': {
      const size = fields.u16();
      const at = fields.start + fields.position;
      fields.skip(size);
      return { kind, at, size };
    }
    case 'contiguous':
      return { kind, address: fields.address(), size: fields.length() };
    case 'chunked':
      return version === 3 ? readTreeChunks(fields, fields.u8()) : readIndexedChunks(fields);
    case 'virtual':
      return { kind };
  }
}

/** Versions 1 and 2 give the dimensions of every class, and no size of contiguous data. */
function readOldLayout(fields: Fields): Layout {
  const rank = fields.u8();
  const kind = CLASSES[fields.u8()];
  fields.skip(5);
  if (kind === 'chunked') return readTreeChunks(fields, rank);
  if (kind === 'contiguous') return { kind, address: fields.address(), size: null };
  if (kind !== 'compact') return fields.fail('its class is not known');
  fields.skip(4 * rank);
  const size = fields.u32();
  const at = fields.start + fields.position;
  fields.skip(size);
  return { kind, at, size };
}

function readTreeChunks(fields: Fields, rank: number): Layout {
  const address = fields.address();
  const chunk = readChunkShape(fields, rank, 4);
  return { kind: 'chunked', chunk, index: { kind: 'tree-1', address }, leavesEdgesUnfiltered: false };
}

function readChunkShape(fields: Fields, rank: number, width: number): number[] {
  if (rank < 2 || rank > MAX_DIMENSIONS) fields.fail(`its chunks have ${rank} dimensions, 2 to ${MAX_DIMENSIONS} make sense`);
  if (width < 1 || width > 8) fields.fail(`it gives sizes of chunks in ${width} bytes`);
  const chunk = Array.from({ length: rank }, () => fields.uint(width));
  if (chunk.includes(0)) fields.fail('its chunks are empty');
  return chunk;
}

/**
 * Reads versions 4 and 5. It skips the parameters of the index, because the index itself repeats
 * them.
 */
function readIndexedChunks(fields: Fields): Layout {
  const flags = fields.u8();
  const rank = fields.u8();
  const chunk = readChunkShape(fields, rank, fields.u8());
  const index = readIndex(fields, (flags & 2) !== 0);
  return { kind: 'chunked', chunk, index, leavesEdgesUnfiltered: (flags & 1) !== 0 };
}

function readIndex(fields: Fields, isFiltered: boolean): ChunkIndex {
  switch (fields.u8()) {
    case 1: {
      const filtered = isFiltered ? { size: fields.length(), mask: fields.u32() } : null;
      return { kind: 'single', address: fields.address(), filtered };
    }
    case 2:
      return { kind: 'implicit', address: fields.address() };
    case 3:
      fields.skip(1);
      return { kind: 'fixed-array', address: fields.address() };
    case 4:
      fields.skip(5);
      return { kind: 'extensible-array', address: fields.address() };
    case 5:
      fields.skip(6);
      return { kind: 'tree-2', address: fields.address() };
    default:
      return fields.fail('its chunk index is of no known kind');
  }
}
