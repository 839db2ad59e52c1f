import { crc32c, hex32, maskCrc32c } from '../../core/checksums.ts';
import { ByteCursor } from '../../bytes/source/byte-cursor.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import { decodeSnappy } from './snappy.ts';

/**
 * Why a table could not be read. `cut`: its end is missing; `trailing`: something follows its end.
 */
export interface TableProblem {
  readonly kind: 'cut' | 'trailing' | 'corrupt' | 'limit';
  readonly offset: number;
  readonly expected?: string;
  readonly found?: string;
  /** Completes a sentence that begins with the name of the file. */
  readonly says: string;
}

/** Called for each key and value of a table, in order. */
export type EntryVisitor = (key: Buffer, value: Buffer) => void;

interface Handle {
  readonly offset: number;
  readonly length: number;
}

const FOOTER_BYTES = 48;
const MAGIC = Buffer.from('57fb808b247547db', 'hex');
/** After each block: one byte of compression type, four of checksum. */
const TRAILER_BYTES = 5;
const MAX_BLOCK_BYTES = 16 * 1024 * 1024;
const MAX_DECODED_BYTES = 256 * 1024 * 1024;
/** No index of a real model comes near it; what is kept of each entry must fit into memory. */
const MAX_ENTRIES = 250_000;
/** Keys build on one another, so without a bound a small block could unfold into gigabytes. */
const MAX_KEY_BYTES = 4096;
const MAX_KEY_BYTES_IN_ALL = 64 * 1024 * 1024;

/** True when the source ends as a sorted table does. */
export function endsLikeTable(source: ByteSource): boolean {
  return source.size >= FOOTER_BYTES && source.read(source.size - MAGIC.length, MAGIC.length).equals(MAGIC);
}

/**
 * Reads a sorted string table (LevelDB's layout, as TensorFlow writes it): data blocks, a block of
 * their places, a footer. Every block's checksum is compared. Visits the entries in order and
 * returns what is wrong, or null. Entries before the fault have been visited then.
 */
export function readSortedTable(source: ByteSource, visit: EntryVisitor): TableProblem | null {
  const footer = readFooter(source);
  if ('kind' in footer) return footer;
  const meta = readBlock(source, footer.meta);
  if ('kind' in meta) return meta;
  const index = readBlock(source, footer.index);
  if ('kind' in index) return index;
  const budget: Budget = { end: 0, decoded: 0, entries: 0, keyBytes: 0, last: null };
  let problem: TableProblem | null = null;
  const broken = forEachEntry(index, footer.index.offset, (_key, value) => {
    problem = readDataBlock(source, value, budget, visit);
    return problem === null;
  });
  return problem ?? broken;
}

/**
 * What has been used up so far: blocks must follow one another, so no part of the file is read
 * twice.
 */
interface Budget {
  end: number;
  decoded: number;
  entries: number;
  keyBytes: number;
  last: Buffer | null;
}

function readDataBlock(source: ByteSource, handleBytes: Buffer, budget: Budget, visit: EntryVisitor): TableProblem | null {
  const handle = readHandle(new ByteCursor(handleBytes));
  if (handle === null || handle.offset < budget.end) return corrupt(budget.end, 'lists its data blocks out of order');
  const block = readBlock(source, handle);
  if ('kind' in block) return block;
  budget.end = handle.offset + handle.length;
  budget.decoded += block.length;
  if (budget.decoded > MAX_DECODED_BYTES) return limit(handle.offset, `holds more than ${MAX_DECODED_BYTES} bytes of entries`);
  let disorder = false;
  const broken = forEachEntry(block, handle.offset, (key, value) => {
    disorder = budget.last !== null && Buffer.compare(budget.last, key) >= 0;
    budget.last = key;
    budget.keyBytes += key.length;
    if (disorder || ++budget.entries > MAX_ENTRIES || budget.keyBytes > MAX_KEY_BYTES_IN_ALL) return false;
    visit(key, value);
    return true;
  });
  if (broken !== null) return broken;
  if (budget.keyBytes > MAX_KEY_BYTES_IN_ALL) return limit(handle.offset, `has keys of more than ${MAX_KEY_BYTES_IN_ALL} bytes together`);
  if (budget.entries > MAX_ENTRIES) return limit(handle.offset, `lists more than ${MAX_ENTRIES} entries`);
  return disorder ? corrupt(handle.offset, 'has keys that are out of order') : null;
}

function readFooter(source: ByteSource): { meta: Handle; index: Handle } | TableProblem {
  if (source.size < FOOTER_BYTES) {
    return { kind: 'cut', offset: source.size, says: `has ${source.size} bytes, fewer than the ${FOOTER_BYTES} of its footer alone` };
  }
  const footerAt = source.size - FOOTER_BYTES;
  const footer = source.read(footerAt, FOOTER_BYTES);
  const magic = footer.subarray(FOOTER_BYTES - MAGIC.length);
  if (!magic.equals(MAGIC)) return withoutFooter(source, magic);
  const cursor = new ByteCursor(footer);
  const meta = readHandle(cursor);
  const index = readHandle(cursor);
  if (meta === null || index === null) return corrupt(footerAt, 'has a footer that does not say where its blocks are');
  return { meta, index };
}

/** The footer is not at the end: either the end is missing, or something was appended. */
function withoutFooter(source: ByteSource, magic: Buffer): TableProblem {
  const tailBytes = Math.min(source.size, 64 * 1024);
  const at = source.read(source.size - tailBytes, tailBytes).lastIndexOf(MAGIC);
  const seen = { expected: MAGIC.toString('hex'), found: magic.toString('hex') };
  if (at < 0) return { kind: 'cut', offset: source.size - MAGIC.length, ...seen, says: 'does not end with the footer of an index' };
  const end = source.size - tailBytes + at + MAGIC.length;
  return { kind: 'trailing', offset: end, ...seen, says: `has ${source.size - end} bytes after its footer` };
}

function readHandle(cursor: ByteCursor): Handle | null {
  const handle = { offset: cursor.varint(), length: cursor.varint() };
  return cursor.failed ? null : handle;
}

function readBlock(source: ByteSource, { offset, length }: Handle): Buffer | TableProblem {
  if (!(offset + length + TRAILER_BYTES <= source.size - FOOTER_BYTES)) {
    return corrupt(Math.min(offset, source.size), `places a block of ${length} bytes at ${offset}, beyond its ${source.size} bytes`);
  }
  if (length > MAX_BLOCK_BYTES) return limit(offset, `has a block of ${length} bytes, at most ${MAX_BLOCK_BYTES} are read`);
  const bytes = source.read(offset, length + TRAILER_BYTES);
  if (bytes.length < length + TRAILER_BYTES) return corrupt(offset, 'became shorter while it was read');
  const stored = bytes.readUInt32LE(length + 1);
  const computed = maskCrc32c(crc32c(bytes.subarray(0, length + 1)));
  if (stored !== computed) {
    const seen = { expected: hex32(stored), found: hex32(computed) };
    return { kind: 'corrupt', offset, ...seen, says: `has a block at ${offset} whose checksum does not match` };
  }
  const type = bytes[length];
  if (type === 0) return bytes.subarray(0, length);
  const decoded = type === 1 ? decodeSnappy(bytes.subarray(0, length), MAX_BLOCK_BYTES) : null;
  return decoded ?? corrupt(offset, `has a block at ${offset} that cannot be decompressed (type ${type})`);
}

/**
 * Entries share the beginning of their key with the one before; the places where that starts afresh
 * stand at the end of the block. Goes on while `visit` returns true.
 */
function forEachEntry(block: Buffer, offset: number, visit: (key: Buffer, value: Buffer) => boolean): TableProblem | null {
  const malformed = corrupt(offset, `has a malformed block at ${offset}`);
  if (block.length < 4) return malformed;
  const entriesEnd = block.length - 4 - 4 * block.readUInt32LE(block.length - 4);
  if (entriesEnd < 0) return malformed;
  const cursor = new ByteCursor(block.subarray(0, entriesEnd));
  let key: Buffer = Buffer.alloc(0);
  while (cursor.remaining > 0) {
    const shared = cursor.varint();
    const rest = cursor.varint();
    const valueLength = cursor.varint();
    const suffix = cursor.take(rest);
    const value = cursor.take(valueLength);
    if (cursor.failed || shared > key.length || shared + rest > MAX_KEY_BYTES) return malformed;
    key = shared === 0 ? suffix : Buffer.concat([key.subarray(0, shared), suffix]);
    if (!visit(key, value)) return null;
  }
  return cursor.failed ? malformed : null;
}

function corrupt(offset: number, says: string): TableProblem {
  return { kind: 'corrupt', offset, says };
}

function limit(offset: number, says: string): TableProblem {
  return { kind: 'limit', offset, says };
}
