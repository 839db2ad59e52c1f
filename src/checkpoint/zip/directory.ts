import { excerpt } from '../../core/printable.ts';
import { type ByteSource, u64le } from '../source/byte-source.ts';
import { ZIP_LIMITS, type ZipEntry, type ZipReading } from './archive.ts';
import type { DirectoryPlace } from './end-records.ts';

const ENTRY_SIGNATURE = 0x02014b50;
const ENTRY_SIZE = 46;
const WINDOW = 256 * 1024;
const ZIP64_EXTRA = 0x0001;

/** Reads the first `most` entries of the central directory, window by window. Stops, with evidence, at the first entry that makes no sense. */
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

/** Moves forward through the directory; holds one window of it. */
class DirectoryWindow {
  position: number;
  readonly #source: ByteSource;
  readonly #end: number;
  #window: Buffer = Buffer.alloc(0);
  #start = 0;

  constructor(source: ByteSource, place: DirectoryPlace) {
    this.#source = source;
    this.position = place.offset;
    this.#end = place.offset + place.size;
  }

  /** The next bytes without moving on, or null when the directory ends before. */
  peek(length: number): Buffer | null {
    if (length > this.#end - this.position) return null;
    let index = this.position - this.#start;
    if (index + length > this.#window.length) {
      this.#window = this.#source.read(this.position, Math.min(Math.max(WINDOW, length), this.#end - this.position));
      this.#start = this.position;
      index = 0;
    }
    return index + length <= this.#window.length ? this.#window.subarray(index, index + length) : null;
  }
}

/** The next entry, or what is wrong with it. */
function readEntry(bytes: DirectoryWindow, sourceSize: number): ZipEntry | string {
  const fixed = bytes.peek(ENTRY_SIZE);
  if (fixed === null) return 'runs past the end of the directory';
  if (fixed.readUInt32LE(0) !== ENTRY_SIGNATURE) return 'does not begin with its signature';
  const nameLength = fixed.readUInt16LE(28);
  const extraLength = fixed.readUInt16LE(30);
  const length = ENTRY_SIZE + nameLength + extraLength + fixed.readUInt16LE(32);
  const all = bytes.peek(length);
  if (all === null) return 'runs past the end of the directory';
  const name = all.toString((all.readUInt16LE(8) & 0x800) === 0 ? 'latin1' : 'utf8', ENTRY_SIZE, ENTRY_SIZE + nameLength);
  const wide = wideFields(all, all.subarray(ENTRY_SIZE + nameLength, ENTRY_SIZE + nameLength + extraLength));
  if (wide === null) return `(${excerpt(name)}) lacks the 64-bit sizes it refers to`;
  if (!(wide.headerOffset < sourceSize)) return `(${excerpt(name)}) lies outside the file`;
  bytes.position += length;
  return { name, method: all.readUInt16LE(10), flags: all.readUInt16LE(8), crc: all.readUInt32LE(16), ...wide, dataOffset: null };
}

/** Sizes and offset; where the 32-bit field is all ones the extra field holds the value. */
function wideFields(fixed: Buffer, extra: Buffer): Pick<ZipEntry, 'size' | 'compressedSize' | 'headerOffset'> | null {
  const short = { size: fixed.readUInt32LE(24), compressedSize: fixed.readUInt32LE(20), headerOffset: fixed.readUInt32LE(42) };
  const needed = Object.values(short).filter((value) => value === 0xffffffff).length;
  if (needed === 0) return short;
  const wide = zip64Field(extra);
  if (wide === null || wide.length < needed * 8) return null;
  let at = 0;
  const next = (value: number): number => {
    if (value !== 0xffffffff) return value;
    at += 8;
    return u64le(wide, at - 8);
  };
  const size = next(short.size);
  const compressedSize = next(short.compressedSize);
  return { size, compressedSize, headerOffset: next(short.headerOffset) };
}

/** The content of the ZIP64 extra field, or null. */
function zip64Field(extra: Buffer): Buffer | null {
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) === ZIP64_EXTRA) return extra.subarray(at + 4, at + 4 + extra.readUInt16LE(at + 2));
  }
  return null;
}
