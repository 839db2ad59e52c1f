import { excerpt } from '../../core/printable.ts';
import { isText } from '../source/text-cache.ts';
import { DEFLATED, STORED, ZIP_LIMITS, type ZipEntry, type ZipReading } from './archive.ts';

const HEADER_SIGNATURE = 0x04034b50;
const HEADER_SIZE = 30;
const HAS_DESCRIPTOR = 0x08;
const ENCRYPTED = 0x01;

/**
 * Finds where the data of each entry begins, and compares the entry's own header with the directory. Headers lie between the data and
 * are read one by one; nothing of the data is.
 */
export function locateData(reading: ZipReading, entries: readonly ZipEntry[], directoryOffset: number): void {
  for (const entry of entries) {
    const problem = checkEntry(entry) ?? locate(reading, entry, directoryOffset);
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

/** What the directory says about an entry has to be possible. */
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

function locate({ source }: ZipReading, entry: ZipEntry, directoryOffset: number): Problem | null {
  const { nameLength } = entry;
  const header = source.read(entry.headerOffset, HEADER_SIZE + nameLength);
  const text = differs(header, entry, nameLength);
  if (text !== null) return { code: 'ZIP_LOCAL_HEADER', text };
  const dataOffset = entry.headerOffset + HEADER_SIZE + nameLength + header.readUInt16LE(28);
  if (!(dataOffset + entry.compressedSize <= directoryOffset)) {
    return { code: 'ZIP_LOCAL_HEADER', text: `runs from offset ${dataOffset} for ${entry.compressedSize} bytes, past the end of the data` };
  }
  entry.dataOffset = dataOffset;
  return null;
}

/** How the header differs from the directory's entry, or null. */
function differs(header: Buffer, entry: ZipEntry, nameLength: number): string | null {
  if (header.length < HEADER_SIZE + nameLength || header.readUInt32LE(0) !== HEADER_SIGNATURE)
    return 'has no header where the directory says';
  const method = header.readUInt16LE(8);
  if (method !== entry.method) return `has method ${method} in its header and ${entry.method} in the directory`;
  if (header.readUInt16LE(26) !== nameLength || !isText(entry.name, header, HEADER_SIZE, HEADER_SIZE + nameLength)) {
    const name = header.toString((entry.flags & 0x800) === 0 ? 'latin1' : 'utf8', HEADER_SIZE, HEADER_SIZE + nameLength);
    if (header.readUInt16LE(26) !== nameLength || name !== entry.name) return `is called ${excerpt(name)} in its header`;
  }
  if ((header.readUInt16LE(6) & HAS_DESCRIPTOR) !== 0) return null;
  const crc = header.readUInt32LE(14);
  if (crc !== entry.crc) return 'has one checksum in its header and another in the directory';
  const size = header.readUInt32LE(22);
  if (size !== entry.size && size !== 0xffffffff) return `has ${size} bytes by its header and ${entry.size} by the directory`;
  return null;
}

/** Two entries that claim the same bytes; found by sorting places, so that many entries stay cheap. */
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
      // Its bytes are another's: reading them again, perhaps a hundred thousand times, would prove nothing.
      entry.dataOffset = null;
      continue;
    }
    const entryEnd = (entry.dataOffset ?? 0) + entry.compressedSize;
    if (entryEnd <= end) continue;
    end = entryEnd;
    previous = entry.name;
  }
}

/** As writers make it: every entry begins where those in front of it have ended. */
function liesInOrder(entries: readonly ZipEntry[]): boolean {
  let end = 0;
  for (const { headerOffset, dataOffset, compressedSize } of entries) {
    if (dataOffset === null || headerOffset < end) return false;
    end = dataOffset + compressedSize;
  }
  return true;
}
