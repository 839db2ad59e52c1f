import { clamp, u64le } from '../../../bytes/source/byte-source.ts';
import { ZIP_LIMITS, type ZipReading } from './archive.ts';

const END_SIGNATURE = 0x06054b50;
const END_BYTES = Buffer.from('PK\x05\x06', 'latin1');
const END_SIZE = 22;
const LOCATOR_SIGNATURE = 0x07064b50;
const LOCATOR_SIZE = 20;
const END64_SIGNATURE = 0x06064b50;
const END64_SIZE = 56;
const LONGEST_COMMENT = 0xffff;
/** How much of the tail is searched first. */
const NEAR_TAIL = 1024;
/**
 * How many signatures are tried before the search gives up: a file full of them must not cost a
 * read each.
 */
const CANDIDATES = 16;

/** The place of the central directory. */
export interface DirectoryPlace {
  readonly offset: number;
  readonly size: number;
  readonly count: number;
}

/**
 * Finds the end of the archive and reads the place of the central directory from it. Returns null,
 * with evidence, when there is no usable end.
 */
export function readEnd(reading: ZipReading): DirectoryPlace | null {
  const near = searchTail(reading, NEAR_TAIL);
  // Almost every archive ends with its end record; only a comment or trailing bytes require the
  // long search.
  const found = typeof near === 'object' && near !== null ? near : searchTail(reading, END_SIZE + LONGEST_COMMENT + LOCATOR_SIZE);
  if (typeof found === 'object' && found !== null) return found;
  const { source, findings } = reading;
  const where = { file: source.file, offset: source.base + source.size };
  if (found !== null) findings.add('ZIP_END_INVALID', where, `the end of the archive ${found}`);
  else findings.add('ZIP_NO_END', where, 'the archive has no end record in its last 64 KiB: it was cut or never finished');
  return null;
}

/**
 * Returns the place that the last usable end record in the tail gives. Without a usable record it
 * returns the fault of the last one, or null when there is none.
 */
function searchTail(reading: ZipReading, length: number): DirectoryPlace | string | null {
  const { source } = reading;
  const tailStart = clamp(source.size - length, source.size);
  const tail = source.read(tailStart, source.size - tailStart);
  let problem: string | null = null;
  for (const at of candidates(tail)) {
    const place = placeOf(reading, tail, at, tailStart);
    if (typeof place === 'string') problem ??= place;
    else {
      reportTrailing(reading, tail, at, tailStart);
      return place;
    }
  }
  return problem;
}

/** Returns the places of the end signature, last first. */
function* candidates(tail: Buffer): Generator<number> {
  let from = tail.length - END_SIZE;
  for (let tried = 0; tried < CANDIDATES && from >= 0; tried++) {
    const at = lastSignature(tail, from);
    if (at === -1) return;
    yield at;
    from = at - 1;
  }
}

/** Almost always, the last possible place has the signature. */
function lastSignature(tail: Buffer, from: number): number {
  return tail.readUInt32LE(from) === END_SIGNATURE ? from : tail.lastIndexOf(END_BYTES, from);
}

function reportTrailing({ source, findings }: ZipReading, tail: Buffer, at: number, tailStart: number): void {
  const end = at + END_SIZE + tail.readUInt16LE(at + 20);
  const extra = tail.length - end;
  if (extra === 0) return;
  const offset = source.base + tailStart + end;
  if (extra > 0) findings.add('ZIP_TRAILING', { file: source.file, offset }, `${extra} bytes follow the end of the archive`);
  else findings.add('ZIP_NO_END', { file: source.file, offset }, `the comment at the end of the archive lacks ${-extra} bytes`);
}

/** Returns the place that the end record at `at` gives, or a description of its fault. */
function placeOf(reading: ZipReading, tail: Buffer, at: number, tailStart: number): DirectoryPlace | string {
  if (tail.readUInt32LE(at) !== END_SIGNATURE) return 'has no signature';
  const endOffset = tailStart + at;
  const classic: DirectoryPlace = {
    count: tail.readUInt16LE(at + 10),
    size: tail.readUInt32LE(at + 12),
    offset: tail.readUInt32LE(at + 16),
  };
  if (tail.readUInt16LE(at + 4) !== tail.readUInt16LE(at + 6)) return 'belongs to an archive in several volumes';
  const locator = at >= LOCATOR_SIZE && tail.readUInt32LE(at - LOCATOR_SIZE) === LOCATOR_SIGNATURE ? at - LOCATOR_SIZE : null;
  if (locator === null) {
    if (classic.count === 0xffff || classic.size === 0xffffffff || classic.offset === 0xffffffff) {
      if (!fits(classic, endOffset)) return 'refers to a 64-bit end record that is not there';
    }
    return checked(classic, endOffset);
  }
  return place64(reading, classic, u64le(tail, locator + 8), tailStart + locator);
}

function place64({ source }: ZipReading, classic: DirectoryPlace, end64: number, locatorOffset: number): DirectoryPlace | string {
  if (!(end64 <= locatorOffset - END64_SIZE)) return 'places its 64-bit record outside the file';
  const record = source.read(end64, END64_SIZE);
  if (record.length < END64_SIZE || record.readUInt32LE(0) !== END64_SIGNATURE)
    return `has no 64-bit record at offset ${end64}, where it says`;
  if (!(end64 + 12 + u64le(record, 4) === locatorOffset)) return 'has a 64-bit record of the wrong length';
  const place: DirectoryPlace = { count: u64le(record, 32), size: u64le(record, 40), offset: u64le(record, 48) };
  if (u64le(record, 24) !== place.count) return 'gives two different numbers of entries';
  if (!agrees(classic.count, place.count, 0xffff)) return `gives ${classic.count} and ${place.count} as the number of entries`;
  if (!agrees(classic.size, place.size, 0xffffffff)) return `gives ${classic.size} and ${place.size} as the size of the directory`;
  if (!agrees(classic.offset, place.offset, 0xffffffff)) return `gives ${classic.offset} and ${place.offset} as the place of the directory`;
  return checked(place, end64);
}

/**
 * The short field holds the value. It holds all ones when the value does not fit, or when the
 * writer always uses the long field.
 */
function agrees(short: number, long: number, placeholder: number): boolean {
  return short === long || short === placeholder;
}

function fits(place: DirectoryPlace, directoryEnd: number): boolean {
  return place.offset + place.size === directoryEnd;
}

function checked(place: DirectoryPlace, directoryEnd: number): DirectoryPlace | string {
  if (!fits(place, directoryEnd)) {
    return `says that the directory of ${place.size} bytes lies at offset ${place.offset}, but it would have to end at ${directoryEnd}`;
  }
  if (place.count > place.size / 46) return `claims ${place.count} entries in a directory of ${place.size} bytes`;
  return place;
}

/**
 * Returns null when the directory fits in memory, otherwise a description of the limit that it
 * exceeds.
 */
export function beyondLimits(place: DirectoryPlace): string | null {
  if (place.count > ZIP_LIMITS.entries) return `has ${place.count} entries; at most ${ZIP_LIMITS.entries} are read`;
  return null;
}
