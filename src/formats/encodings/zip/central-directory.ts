import { excerpt } from '../../../core/printable.ts';
import { type ByteSource, u64le } from '../../../bytes/source/byte-source.ts';
import { u16At, u32At } from '../../../bytes/source/byte-window.ts';
import { TextCache } from '../../../bytes/source/text-cache.ts';
import { ZIP_LIMITS, type ZipEntry, type ZipReading } from './archive.ts';
import type { DirectoryPlace } from './end-records.ts';

const ENTRY_SIGNATURE = 0x02014b50;
const ENTRY_SIZE = 46;
const WINDOW = 256 * 1024;
const ZIP64_EXTRA = 0x0001;
const NOTHING = Buffer.alloc(0);

/**
 * Reads the first `most` entries of the central directory, window by window. It stops, with
 * evidence, at the first invalid entry.
 */
export function readDirectory(
  reading: ZipReading,
  place: DirectoryPlace,
  most = place.count,
): { readonly entries: ZipEntry[]; readonly whole: boolean } {
  const entries: ZipEntry[] = [];
  const bytes = new DirectoryWindow(reading.source, place);
  let nameBytes = 0;
  for (let index = 0; index < Math.min(place.count, most); index++) {
    const entry = readEntry(bytes, reading.source.size);
    if (typeof entry === 'string') {
      const where = { file: reading.source.file, offset: reading.source.base + bytes.position };
      reading.findings.add('ZIP_DIRECTORY_INVALID', where, `entry ${index + 1} of ${place.count} in the directory of the archive ${entry}`);
      return { entries, whole: false };
    }
    nameBytes += entry.name.length;
    if (nameBytes > ZIP_LIMITS.nameBytes) {
      const message = `the names in the archive take more than ${ZIP_LIMITS.nameBytes} bytes`;
      reading.findings.add('LIMIT_EXCEEDED', { file: reading.source.file }, message);
      return { entries, whole: false };
    }
    entries.push(entry);
  }
  return { entries, whole: most >= place.count && endsThere(reading, place, bytes) };
}

function endsThere(reading: ZipReading, place: DirectoryPlace, bytes: DirectoryWindow): boolean {
  const left = place.offset + place.size - bytes.position;
  if (left === 0) return true;
  const message = `the directory of the archive has ${left} bytes more than its ${place.count} entries take`;
  reading.findings.add('ZIP_DIRECTORY_INVALID', { file: reading.source.file, offset: reading.source.base + bytes.position }, message);
  return false;
}

/** Moves forward through the directory and holds one window of it. */
class DirectoryWindow {
  position: number;
  readonly #source: ByteSource;
  readonly #end: number;
  bytes: Buffer = NOTHING;
  #start = 0;

  constructor(source: ByteSource, place: DirectoryPlace) {
    this.#source = source;
    this.position = place.offset;
    this.#end = place.offset + place.size;
  }

  /**
   * Returns the index in `bytes` of the next `length` bytes, without moving; -1 when the directory
   * ends before them.
   */
  ensure(length: number): number {
    if (length > this.#end - this.position) return -1;
    const index = this.position - this.#start;
    if (index + length <= this.bytes.length) return index;
    this.bytes = this.#source.read(this.position, Math.min(Math.max(WINDOW, length), this.#end - this.position));
    this.#start = this.position;
    return length <= this.bytes.length ? 0 : -1;
  }
}

/** Strings seen before, because the archives of one checkpoint use the same record names. */
const names = new TextCache();

/** Returns the next entry, or a description of its fault. */
function readEntry(directory: DirectoryWindow, sourceSize: number): ZipEntry | string {
  const fixed = directory.ensure(ENTRY_SIZE);
  if (fixed === -1) return 'runs past the end of the directory';
  if (u32At(directory.bytes, fixed) !== ENTRY_SIGNATURE) return 'does not begin with its signature';
  const nameLength = u16At(directory.bytes, fixed + 28);
  const extraLength = u16At(directory.bytes, fixed + 30);
  const length = ENTRY_SIZE + nameLength + extraLength + u16At(directory.bytes, fixed + 32);
  const at = directory.ensure(length);
  if (at === -1) return 'runs past the end of the directory';
  const { bytes } = directory;
  const flags = u16At(bytes, at + 8);
  const nameEnd = at + ENTRY_SIZE + nameLength;
  const name =
    names.read(bytes, at + ENTRY_SIZE, nameEnd) ?? bytes.toString((flags & 0x800) === 0 ? 'latin1' : 'utf8', at + ENTRY_SIZE, nameEnd);
  const entry: Mutable<ZipEntry> = {
    name,
    method: u16At(bytes, at + 10),
    flags,
    crc: u32At(bytes, at + 16),
    compressedSize: u32At(bytes, at + 20),
    size: u32At(bytes, at + 24),
    headerOffset: u32At(bytes, at + 42),
    nameLength,
    dataOffset: null,
  };
  if (!widen(entry, bytes, nameEnd, extraLength)) return `(${excerpt(name)}) lacks the 64-bit sizes it refers to`;
  if (!(entry.headerOffset < sourceSize)) return `(${excerpt(name)}) lies outside the file`;
  directory.position += length;
  return entry;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

const ALL_ONES = 0xffffffff;
const WIDE_FIELDS = ['size', 'compressedSize', 'headerOffset'] as const;

/**
 * Replaces 32-bit fields that are all ones by the values in the extra field. Returns false when the
 * extra field lacks one.
 */
function widen(entry: Mutable<ZipEntry>, bytes: Buffer, extraStart: number, extraLength: number): boolean {
  if (entry.size !== ALL_ONES && entry.compressedSize !== ALL_ONES && entry.headerOffset !== ALL_ONES) return true;
  const wide = zip64Field(bytes.subarray(extraStart, extraStart + extraLength));
  let at = 0;
  for (const field of WIDE_FIELDS) {
    if (entry[field] !== ALL_ONES) continue;
    if (wide === null || wide.length < at + 8) return false;
    entry[field] = u64le(wide, at);
    at += 8;
  }
  return true;
}

/** Returns the content of the ZIP64 extra field, or null. */
function zip64Field(extra: Buffer): Buffer | null {
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) === ZIP64_EXTRA) return extra.subarray(at + 4, at + 4 + extra.readUInt16LE(at + 2));
  }
  return null;
}
