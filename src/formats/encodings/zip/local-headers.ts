import { excerpt } from '../../../core/printable.ts';
import { ByteWindow, u16At, u32At } from '../../../bytes/source/byte-window.ts';
import { isText } from '../../../bytes/source/text-cache.ts';
import { DEFLATED, STORED, ZIP_LIMITS, type ZipEntry, type ZipReading } from './archive.ts';

const HEADER_SIGNATURE = 0x04034b50;
const HEADER_SIZE = 30;
const HAS_DESCRIPTOR = 0x08;
const ENCRYPTED = 0x01;

/**
 * Finds the start of each entry's data and compares the entry's own header with the directory.
 * Headers lie between the data, so they are read one by one; the data is not read.
 */
export function locateData(reading: ZipReading, entries: readonly ZipEntry[], directoryOffset: number): void {
  const headers = new ByteWindow(reading.source);
  for (const entry of entries) {
    const problem = checkEntry(entry) ?? locate(headers, entry, directoryOffset);
    if (problem === null) continue;
    const where = { file: reading.source.file, offset: reading.source.base + entry.headerOffset };
    reading.findings.add(problem.code, where, `entry ${excerpt(entry.name)} of the archive ${problem.text}`);
  }
  reportOverlaps(reading, entries);
}

interface Problem {
  readonly code: 'ZIP_BOMB' | 'ZIP_ENTRY_SIZE' | 'ZIP_ENTRY_UNSUPPORTED' | 'ZIP_LOCAL_HEADER';
  readonly text: string;
}

/** Checks that the directory's description of an entry is possible. */
function checkEntry({ method, flags, size, compressedSize }: ZipEntry): Problem | null {
  if ((flags & ENCRYPTED) !== 0) return { code: 'ZIP_ENTRY_UNSUPPORTED', text: 'is encrypted' };
  if (method === STORED && size !== compressedSize) {
    return { code: 'ZIP_ENTRY_SIZE', text: `is stored as it is, yet has ${size} bytes and takes ${compressedSize}` };
  }
  if (method === DEFLATED && size > compressedSize * ZIP_LIMITS.inflateRatio) {
    return { code: 'ZIP_BOMB', text: `claims that ${compressedSize} bytes unpack to ${size}` };
  }
  if (method !== STORED && method !== DEFLATED) return { code: 'ZIP_ENTRY_UNSUPPORTED', text: `is packed with method ${method}` };
  return null;
}

function locate(headers: ByteWindow, entry: ZipEntry, directoryOffset: number): Problem | null {
  const length = HEADER_SIZE + entry.nameLength;
  const at = headers.find(entry.headerOffset, length);
  const text = at === -1 ? NO_HEADER : differs(headers.bytes, at, entry);
  if (text !== null) return { code: 'ZIP_LOCAL_HEADER', text };
  const dataOffset = entry.headerOffset + length + u16At(headers.bytes, at + 28);
  if (!(dataOffset + entry.compressedSize <= directoryOffset)) {
    return { code: 'ZIP_LOCAL_HEADER', text: `runs from offset ${dataOffset} for ${entry.compressedSize} bytes, past the end of the data` };
  }
  entry.dataOffset = dataOffset;
  return null;
}

const NO_HEADER = 'has no header where the directory says';

/**
 * Describes how the header at an index of the bytes differs from the directory's entry; null when
 * it does not.
 */
function differs(bytes: Buffer, at: number, entry: ZipEntry): string | null {
  if (u32At(bytes, at) !== HEADER_SIGNATURE) return NO_HEADER;
  const method = u16At(bytes, at + 8);
  if (method !== entry.method) return `has method ${method} in its header and ${entry.method} in the directory`;
  const otherName = differentName(bytes, at, entry);
  if (otherName !== null) return `is called ${excerpt(otherName)} in its header`;
  if ((u16At(bytes, at + 6) & HAS_DESCRIPTOR) !== 0) return null;
  if (u32At(bytes, at + 14) !== entry.crc) return 'has one checksum in its header and another in the directory';
  const size = u32At(bytes, at + 22);
  if (size !== entry.size && size !== 0xffffffff) return `has ${size} bytes by its header and ${entry.size} by the directory`;
  return null;
}

/** Returns the name in the header when it differs from the entry's name. */
function differentName(bytes: Buffer, at: number, { name, nameLength, flags }: ZipEntry): string | null {
  const start = at + HEADER_SIZE;
  const isSameLength = u16At(bytes, at + 26) === nameLength;
  if (isSameLength && isText(name, bytes, start, start + nameLength)) return null;
  const found = bytes.toString((flags & 0x800) === 0 ? 'latin1' : 'utf8', start, start + nameLength);
  return isSameLength && found === name ? null : found;
}

/**
 * Reports two entries that claim the same bytes. It sorts the places, so many entries stay cheap.
 */
function reportOverlaps({ source, findings }: ZipReading, entries: readonly ZipEntry[]): void {
  if (liesInOrder(entries)) return;
  const placed = entries.filter((entry) => entry.dataOffset !== null);
  placed.sort((a, b) => a.headerOffset - b.headerOffset);
  let end = 0;
  let previous = '';
  for (const entry of placed) {
    if (entry.headerOffset < end) {
      const message = `entry ${excerpt(entry.name)} begins before entry ${excerpt(previous)} ends`;
      findings.add('ZIP_OVERLAP', { file: source.file, offset: source.base + entry.headerOffset }, message);
      // Skip the entry's bytes, because they belong to another entry. Reading them again, perhaps a
      // hundred thousand times, would prove nothing.
      entry.dataOffset = null;
      continue;
    }
    const entryEnd = (entry.dataOffset ?? 0) + entry.compressedSize;
    if (entryEnd <= end) continue;
    end = entryEnd;
    previous = entry.name;
  }
}

/**
 * True for the order that writers produce: every entry begins after the end of the entries in front
 * of it.
 */
function liesInOrder(entries: readonly ZipEntry[]): boolean {
  let end = 0;
  for (const { headerOffset, dataOffset, compressedSize } of entries) {
    if (dataOffset === null || headerOffset < end) return false;
    end = dataOffset + compressedSize;
  }
  return true;
}
