import { inflateRawSync } from 'node:zlib';
import { hex32 } from '../../../core/checksums.ts';
import { systemCode } from '../../../core/errors.ts';
import { excerpt } from '../../../core/printable.ts';
import type { Check } from '../../../bytes/hashing/check.ts';
import type { Findings } from '../../reading/findings.ts';
import { LIMITS } from '../../../core/hostile-limits.ts';
import { type ByteSource, memorySource } from '../../../bytes/source/byte-source.ts';
import { DEFLATED, ZIP_LIMITS, type ZipArchive, type ZipEntry, type ZipReading } from './archive.ts';
import { readDirectory } from './central-directory.ts';
import { beyondLimits, readEnd } from './end-records.ts';
import { locateData } from './local-headers.ts';

/**
 * Reads the closing records, the directory and the entries' headers of an archive. Returns null,
 * with evidence, when there is no directory to read.
 */
export function readZip(source: ByteSource, findings: Findings): ZipArchive | null {
  const reading: ZipReading = { source, findings };
  const place = readEnd(reading);
  if (place === null) return null;
  const excess = beyondLimits(place);
  if (excess !== null) {
    findings.add('LIMIT_EXCEEDED', { file: source.file }, `the archive ${excess}`);
    return null;
  }
  const { entries, whole } = readDirectory(reading, place);
  locateData(reading, entries, place.offset);
  reportDuplicates(reading, entries);
  return new Archive(entries, whole);
}

class Archive implements ZipArchive {
  readonly entries: readonly ZipEntry[];
  readonly sound: boolean;
  #byName: Map<string, ZipEntry> | null = null;

  constructor(entries: readonly ZipEntry[], sound: boolean) {
    this.entries = entries;
    this.sound = sound;
  }

  get byName(): ReadonlyMap<string, ZipEntry> {
    this.#byName ??= new Map(this.entries.map((entry) => [entry.name, entry]));
    return this.#byName;
  }
}

/** Up to this many entries, comparing them all is faster than a set of their names. */
const FEW = 16;

function reportDuplicates({ source, findings }: ZipReading, entries: readonly ZipEntry[]): void {
  if (entries.length <= FEW && areDistinct(entries)) return;
  const seen = new Set<string>();
  for (const entry of entries) {
    if (seen.has(entry.name)) {
      const where = { file: source.file, offset: source.base + entry.headerOffset };
      findings.add('ZIP_DUPLICATE', where, `the archive has two entries called ${excerpt(entry.name)}`);
    }
    seen.add(entry.name);
  }
}

function areDistinct(entries: readonly ZipEntry[]): boolean {
  for (let index = 1; index < entries.length; index++) {
    const name = entries[index]?.name;
    for (let other = 0; other < index; other++) if (entries[other]?.name === name) return false;
  }
  return true;
}

/**
 * Returns the stored checksum of an entry, for `--deep`; null when its data could not be located.
 */
export function checkOfEntry(source: ByteSource, entry: ZipEntry, payloadBytes: number): Check | null {
  if (entry.dataOffset === null) return null;
  return {
    algorithm: 'crc32',
    file: source.file,
    offset: source.base + entry.dataOffset,
    length: entry.compressedSize,
    encoding: entry.method === DEFLATED ? 'deflate' : 'stored',
    decodedLength: entry.size,
    expected: hex32(entry.crc),
    what: `entry ${excerpt(entry.name)}`,
    code: 'ZIP_CRC_MISMATCH',
    payloadBytes,
  };
}

/**
 * Returns the content of an entry as a source. A stored entry is a part of the archive; a deflated
 * one is a copy in memory, if it is not larger than `maxBytes`. Returns null when the content is
 * unavailable, with evidence when the archive is at fault.
 */
export function openEntry(source: ByteSource, entry: ZipEntry, findings: Findings, maxBytes = LIMITS.documentBytes): ByteSource | null {
  if (entry.dataOffset === null) return null;
  const stored = source.slice(entry.dataOffset, entry.compressedSize);
  if (entry.method !== DEFLATED) return stored;
  if (entry.size > maxBytes || entry.compressedSize > maxBytes) return null;
  source.unpacks?.(entry.size);
  const bytes = inflate(stored.read(0, entry.compressedSize), entry.size);
  if (bytes !== null) return memorySource(bytes, source.file, stored.base);
  const where = { file: source.file, offset: stored.base, expected: `${entry.size} bytes` };
  findings.add('ZIP_CRC_MISMATCH', where, `entry ${excerpt(entry.name)} of the archive does not unpack to its ${entry.size} bytes`);
  return null;
}

/**
 * Inflates to exactly `size` bytes; returns null when the data is broken or gives another length.
 */
function inflate(packed: Buffer, size: number): Buffer | null {
  try {
    const bytes = inflateRawSync(packed, { maxOutputLength: size + 1 });
    return bytes.length === size ? bytes : null;
  } catch {
    return null;
  }
}

/** The largest size of the code tables at the beginning of deflated data. */
const CODE_TABLES = 1024;
/**
 * More than one byte of deflated data can add, so that some number of bytes gives the requested
 * length and little more.
 */
const OVERSHOOT = 4 * ZIP_LIMITS.inflateRatio;

/**
 * Returns the first bytes of an entry, inflated as far as needed; empty when they are unavailable.
 */
export function entryHead(source: ByteSource, entry: ZipEntry, length: number): Buffer {
  if (entry.dataOffset === null) return Buffer.alloc(0);
  if (entry.method !== DEFLATED) return source.read(entry.dataOffset, Math.min(entry.compressedSize, length));
  const stored = source.read(entry.dataOffset, Math.min(entry.compressedSize, length + CODE_TABLES));
  // Zeros inflate a thousandfold, and the inflater returns all or nothing. Search for the number of
  // bytes that gives enough.
  let [enough, tooMany] = [0, stored.length + 1];
  let head: Buffer = Buffer.alloc(0);
  for (let count = stored.length; count > enough && count < tooMany; count = Math.floor((enough + tooMany) / 2)) {
    const inflated = inflateSome(stored.subarray(0, count), length + OVERSHOOT);
    if (inflated === null) tooMany = count;
    else {
      head = inflated;
      enough = count;
    }
  }
  return head.subarray(0, length);
}

/**
 * Inflates the bytes as far as they go; returns null when the result exceeds `most`, and nothing
 * when the bytes are broken.
 */
function inflateSome(packed: Buffer, most: number): Buffer | null {
  try {
    // With a sync flush the end of the input is not an error: the inflater returns its output so
    // far.
    return inflateRawSync(packed, { finishFlush: 2, maxOutputLength: most });
  } catch (thrown) {
    return systemCode(thrown) === 'ERR_BUFFER_TOO_LARGE' ? null : Buffer.alloc(0);
  }
}

/** Returns the name of the entry whose local header starts the bytes, or null. */
export function firstEntryName(head: Buffer): string | null {
  if (head.length < 30 || head.readUInt32LE(0) !== 0x04034b50) return null;
  return head.toString('utf8', 30, 30 + head.readUInt16LE(26));
}
