import { ByteCursor } from '../../../bytes/source/byte-cursor.ts';
import { type DataFile, type Place, type PlaceColumns, placeAt, readColumn, readDataFiles, readPlaces } from './record-columns.ts';

/**
 * The value that a node holds under one key, relative to the prefix that leads to the node. Keys
 * are byte strings, one character per byte.
 */
export type NodeEntry =
  | { readonly kind: 'child'; readonly key: string; readonly prefix: string; readonly place: Place }
  | { readonly kind: 'inline'; readonly key: string; readonly value: Buffer }
  | { readonly kind: 'indirect'; readonly key: string; readonly place: Place };

/** A parsed node of the B-tree. */
export interface BtreeNode {
  /** 0 for a leaf. */
  readonly height: number;
  readonly count: number;
  /**
   * Visits the entries in the order of their keys, while `visit` returns true. Returns false when
   * an entry is malformed.
   */
  forEach(visit: (entry: NodeEntry) => boolean): boolean;
}

/** Builds each key during the visit, because every key begins with a part of the one before. */
interface Keys {
  readonly shared: Float64Array;
  readonly suffixes: Pieces;
}

/** Consecutive byte strings, by their start offsets; one more offset than strings. */
interface Pieces {
  readonly bytes: Buffer;
  readonly starts: Float64Array;
}

const MAX_ARITY = 1024 * 1024;
const MAX_KEY_BYTES = 65_535;
/**
 * The most entries of a node. Writers keep nodes near 8 MiB, about ten thousand keys. Larger ones
 * are not read, because each key costs a hundred bytes.
 */
export const MOST_KEYS = 250_000;

/**
 * Reads the body of a B-tree node that was reached through `base`; returns null when it is
 * malformed.
 */
export function readBtreeNode(body: Buffer, base: string): BtreeNode | null {
  const cursor = new ByteCursor(body);
  const height = cursor.byte();
  const files = readDataFiles(cursor, base);
  const count = cursor.varint();
  if (cursor.failed || count === 0 || count > MAX_ARITY) return null;
  if (count > MOST_KEYS) return { height, count, forEach: () => true };
  const entryAt = height === 0 ? readLeaf(cursor, count, files) : readInterior(cursor, count, files);
  if (entryAt === null || cursor.failed || cursor.remaining > 0) return null;
  return { height, count, forEach: (visit) => forEachKey(entryAt.keys, (key, i) => visitEntry(entryAt.make(key, i), visit)) };
}

/** Makes entries one by one, so that a node of a million keys is never in memory as a whole. */
interface Entries {
  readonly keys: Keys;
  make(key: string, i: number): NodeEntry | null;
}

type Step = 'go-on' | 'stop' | 'malformed';

function visitEntry(entry: NodeEntry | null, visit: (entry: NodeEntry) => boolean): Step {
  if (entry === null) return 'malformed';
  return visit(entry) ? 'go-on' : 'stop';
}

function forEachKey({ shared, suffixes }: Keys, visit: (key: string, i: number) => Step): boolean {
  let previous = '';
  for (let i = 0; i + 1 < suffixes.starts.length; i++) {
    const length = i === 0 ? 0 : (shared[i - 1] ?? 0);
    const key = previous.slice(0, length) + pieceAt(suffixes, i).toString('latin1');
    if (length > previous.length || key.length > MAX_KEY_BYTES || (i > 0 && key <= previous)) return false;
    const step = visit(key, i);
    if (step !== 'go-on') return step === 'stop';
    previous = key;
  }
  return true;
}

function readInterior(cursor: ByteCursor, count: number, files: readonly DataFile[]): Entries {
  const shared = readColumn(cursor, count - 1);
  const lengths = readColumn(cursor, count);
  const prefixes = readColumn(cursor, count);
  const keys = { shared, suffixes: readPieces(cursor, lengths) };
  const places = readPlaces(cursor, count);
  // Skips the numbers of keys, bytes in nodes and bytes in values; they follow from the tree
  // itself.
  for (let i = 0; i < 3; i++) readColumn(cursor, count);
  return {
    keys,
    make: (key, i) => {
      const place = placeAt(places, i, files);
      const length = prefixes[i] ?? 0;
      return place === null || length > key.length ? null : { kind: 'child', key, prefix: key.slice(0, length), place };
    },
  };
}

function readLeaf(cursor: ByteCursor, count: number, files: readonly DataFile[]): Entries | null {
  const shared = readColumn(cursor, count - 1);
  const keys = { shared, suffixes: readPieces(cursor, readColumn(cursor, count)) };
  const lengths = readColumn(cursor, count);
  const kinds = cursor.take(count);
  const indirect = kinds.reduce((sum, kind) => sum + kind, 0);
  if (cursor.failed || kinds.some((kind) => kind > 1)) return null;
  const ids = readColumn(cursor, indirect);
  const offsets = readColumn(cursor, indirect);
  const values = readValues(cursor, { kinds, lengths, ids, offsets });
  return { keys, make: (key, i) => leafEntry(key, values.rows[i] ?? -1, values, { isInline: kinds[i] === 0, files }) };
}

interface Values {
  readonly inline: Pieces;
  readonly places: PlaceColumns;
  /** For each entry, its row among the inline values or among the places. */
  readonly rows: Float64Array;
}

interface LeafColumns {
  readonly kinds: Buffer;
  readonly lengths: Float64Array;
  readonly ids: Float64Array;
  readonly offsets: Float64Array;
}

function readValues(cursor: ByteCursor, { kinds, lengths, ids, offsets }: LeafColumns): Values {
  const rows = new Float64Array(kinds.length);
  const placeLengths = new Float64Array(ids.length);
  const inlineLengths = new Float64Array(kinds.length - ids.length);
  const filled = { inline: 0, places: 0 };
  for (const [i, kind] of kinds.entries()) {
    rows[i] = kind === 0 ? filled.inline : filled.places;
    if (kind === 0) inlineLengths[filled.inline++] = lengths[i] ?? 0;
    else placeLengths[filled.places++] = lengths[i] ?? 0;
  }
  return { inline: readPieces(cursor, inlineLengths), rows, places: { ids, offsets, lengths: placeLengths } };
}

function leafEntry(key: string, row: number, values: Values, of: { isInline: boolean; files: readonly DataFile[] }): NodeEntry | null {
  if (of.isInline) return { kind: 'inline', key, value: pieceAt(values.inline, row) };
  const place = placeAt(values.places, row, of.files);
  return place === null ? null : { kind: 'indirect', key, place };
}

function readPieces(cursor: ByteCursor, lengths: Float64Array): Pieces {
  const starts = new Float64Array(lengths.length + 1);
  let end = 0;
  for (const [i, length] of lengths.entries()) {
    end += length;
    starts[i + 1] = end;
  }
  return { bytes: cursor.take(end), starts };
}

function pieceAt({ bytes, starts }: Pieces, i: number): Buffer {
  return bytes.subarray(starts[i], starts[i + 1]);
}
