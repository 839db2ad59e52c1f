import type { ByteCursor } from '../../../bytes/source/byte-cursor.ts';

/**
 * Reads records stored by column: first one field of all records, then the next. Every value takes
 * at least one byte, which bounds `count`.
 */
export function readColumn(cursor: ByteCursor, count: number): Float64Array {
  if (!(count <= cursor.remaining)) {
    cursor.failed = true;
    return new Float64Array(0);
  }
  const values = new Float64Array(count);
  for (let i = 0; i < count; i++) values[i] = cursor.varint();
  return values;
}

/** The place of a value: a data file by its path below the database, and the bytes in it. */
export interface Place {
  readonly path: string;
  /** The part of the path that also leads to the files named by a node at this place. */
  readonly base: string;
  readonly offset: number;
  readonly length: number;
}

/** An entry of the table of data files. */
export interface DataFile {
  readonly path: string;
  readonly base: string;
}

/** The longest path; no system opens a longer one. */
const MAX_PATH_BYTES = 4096;
/**
 * Limit on the paths of one table. Paths build on one another, so without a limit a small table
 * could expand into gigabytes.
 */
const MAX_TABLE_CHARACTERS = 16 * 1024 * 1024;

/**
 * Reads the table of data files in front of every list of places. `base` leads to the node that
 * holds the table.
 */
export function readDataFiles(cursor: ByteCursor, base: string): readonly DataFile[] {
  const count = cursor.varint();
  const prefixes = readColumn(cursor, Math.max(0, count - 1));
  const suffixes = readColumn(cursor, count);
  const bases = readColumn(cursor, count);
  const files: DataFile[] = [];
  let previous = '';
  let characters = 0;
  for (let i = 0; i < count && !cursor.failed; i++) {
    const shared = i === 0 ? 0 : (prefixes[i - 1] ?? 0);
    const suffix = cursor.take(suffixes[i] ?? 0);
    const path = previous.slice(0, shared) + suffix.toString('latin1');
    characters += base.length + path.length;
    const isPath = shared <= previous.length && path.length <= MAX_PATH_BYTES && (bases[i] ?? 0) <= path.length;
    if (!isPath || characters > MAX_TABLE_CHARACTERS) cursor.failed = true;
    files.push({ path: asText(base + path), base: base + path.slice(0, bases[i]) });
    previous = path;
  }
  return files;
}

/** The text of a name whose bytes were assembled one by one. */
export function asText(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** A list of places, stored as columns. */
export interface PlaceColumns {
  readonly ids: Float64Array;
  readonly offsets: Float64Array;
  readonly lengths: Float64Array;
}

/** Reads the columns of `count` places. */
export function readPlaces(cursor: ByteCursor, count: number): PlaceColumns {
  return { ids: readColumn(cursor, count), offsets: readColumn(cursor, count), lengths: readColumn(cursor, count) };
}

/** Returns the place in row `i`; null when it names no file of the table. */
export function placeAt({ ids, offsets, lengths }: PlaceColumns, i: number, files: readonly DataFile[]): Place | null {
  const file = files[ids[i] ?? -1];
  const offset = offsets[i] ?? Number.NaN;
  const length = lengths[i] ?? Number.NaN;
  return file === undefined ? null : { ...file, offset, length };
}
