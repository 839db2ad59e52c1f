import { isArray, isObject, type Json, type JsonObject, parseJson } from '../../../core/json.ts';

/** How a piece of an array is stored. `other`: an encoding that Holdfast does not inspect. */
export type Encoding = 'raw' | 'zstd' | 'other';

/** A chunk that is itself divided: pieces, and an index of their places. */
export interface Sharding {
  readonly pieces: number;
  readonly pieceBytes: number | null;
  readonly encoding: Encoding;
  readonly isIndexAtEnd: boolean;
  /** Null when the index has an encoding that Holdfast does not inspect. */
  readonly hasIndexChecksum: boolean | null;
}

/** The description of an array in `.zarray` (version 2) or `zarr.json` (version 3). */
export interface ZarrArray {
  readonly dtype: string;
  /** Chunks along each dimension; empty for a scalar, which has one chunk. */
  readonly grid: readonly number[];
  /** Product of the grid. */
  readonly chunks: number;
  /** Bytes of one chunk before encoding; null when the width of the type is unknown. */
  readonly chunkBytes: number | null;
  readonly encoding: Encoding;
  readonly sharding: Sharding | null;
}

/**
 * Parses the description of an array; returns a text that describes the fault when it is invalid.
 */
export function parseArrayMetadata(text: string, version: 2 | 3): ZarrArray | string {
  const parsed = parseJson(text);
  if (!parsed.ok) return parsed.reason;
  if (!isObject(parsed.value)) return 'it is not an object';
  return (version === 2 ? parseVersion2 : parseVersion3)(parsed.value) ?? 'it lacks shape, chunks or type';
}

function parseVersion2(json: JsonObject): ZarrArray | null {
  const { compressor, dtype, filters } = json;
  const layout = layoutOf(json['shape'], json['chunks'], dtype);
  if (layout === null) return null;
  const isPlain = filters === null || filters === undefined || (isArray(filters) && filters.length === 0);
  return { ...layout, encoding: isPlain ? encodingOfVersion2(compressor) : 'other', sharding: null };
}

function encodingOfVersion2(compressor: Json | undefined): Encoding {
  if (compressor === null || compressor === undefined) return 'raw';
  return isObject(compressor) && compressor['id'] === 'zstd' ? 'zstd' : 'other';
}

function parseVersion3(json: JsonObject): ZarrArray | null {
  const layout = layoutOf(json['shape'], chunkShape(json['chunk_grid']), json['data_type']);
  const codecs = json['codecs'];
  if (layout === null || !isArray(codecs)) return null;
  const [first] = codecs;
  if (codecs.length !== 1 || !isObject(first) || first['name'] !== 'sharding_indexed') {
    return { ...layout, encoding: encodingOfVersion3(codecs), sharding: null };
  }
  const sharding = parseSharding(first['configuration'], chunkShape(json['chunk_grid']), layout.dtype);
  return sharding === null ? null : { ...layout, encoding: 'other', sharding };
}

/** Reads the shape in the configuration of a chunk grid or a sharding codec. */
function chunkShape(holder: Json | undefined): Json | undefined {
  if (!isObject(holder)) return undefined;
  const configuration = holder['configuration'];
  return isObject(configuration) ? configuration['chunk_shape'] : undefined;
}

function encodingOfVersion3(codecs: readonly Json[]): Encoding {
  const names = codecs.map(nameOfCodec).filter((name) => name !== 'transpose' && name !== 'bytes');
  if (names.length === 0) return 'raw';
  return names.length === 1 && names[0] === 'zstd' ? 'zstd' : 'other';
}

function nameOfCodec(codec: Json): string {
  const name = isObject(codec) ? codec['name'] : codec;
  return typeof name === 'string' ? name : '';
}

function parseSharding(configuration: Json | undefined, outer: Json | undefined, dtype: string): Sharding | null {
  if (!isObject(configuration)) return null;
  const { codecs, index_codecs: indexCodecs } = configuration;
  const inner = layoutOf(outer, configuration['chunk_shape'], dtype);
  if (inner === null || !isArray(codecs) || !isArray(indexCodecs)) return null;
  return {
    pieces: inner.chunks,
    pieceBytes: inner.chunkBytes,
    encoding: encodingOfVersion3(codecs),
    isIndexAtEnd: configuration['index_location'] !== 'start',
    hasIndexChecksum: indexChecksum(indexCodecs),
  };
}

function indexChecksum(codecs: readonly Json[]): boolean | null {
  const names = codecs.map(nameOfCodec).join(' ');
  if (names === 'bytes') return false;
  return names === 'bytes crc32c' ? true : null;
}

type Layout = Pick<ZarrArray, 'dtype' | 'grid' | 'chunks' | 'chunkBytes'>;

function layoutOf(shape: Json | undefined, chunks: Json | undefined, dtype: Json | undefined): Layout | null {
  if (!isCounts(shape) || !isCounts(chunks) || typeof dtype !== 'string' || dtype.length > 64 || shape.length !== chunks.length)
    return null;
  if (chunks.includes(0)) return null;
  const grid = shape.map((length, i) => Math.ceil(length / (chunks[i] as number)));
  const width = widthOf(dtype);
  return { dtype, grid, chunks: product(grid), chunkBytes: width === null ? null : product(chunks) * width };
}

function isCounts(value: Json | undefined): value is readonly number[] {
  return isArray(value) && value.length <= 32 && value.every((count) => Number.isSafeInteger(count) && (count as number) >= 0);
}

function product(counts: readonly number[]): number {
  return counts.reduce((all, count) => all * count, 1);
}

/**
 * Bytes of one element: `<f4` of version 2, `float32` of version 3, and the small types of machine
 * learning in both.
 */
function widthOf(dtype: string): number | null {
  const old = /^[<>|][biufcV](\d{1,3})$/.exec(dtype);
  if (old !== null) return Number(old[1]);
  if (dtype === 'bool') return 1;
  const named = /^(?:bfloat|float|int|uint|complex)(\d{1,3})(?:_\w+)?$/.exec(dtype);
  return named === null ? null : Math.max(1, Number(named[1]) / 8);
}
