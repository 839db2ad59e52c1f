import { crc32c, hex32, maskCrc32c } from '../../core/checksums.ts';
import { combineCrc } from '../../bytes/hashing/crc-combine.ts';
import { ByteCursor } from '../../bytes/source/byte-cursor.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import type { BundleEntry } from './bundle.ts';

/**
 * Where the text of a string tensor lies in its slice of the data file, and the plain CRC-32C that
 * text must have.
 */
export interface StringTensorText {
  readonly offset: number;
  readonly length: number;
  readonly checksum: number;
}

/** The text of a string tensor, or the reason for its absence. */
export type StringTensor =
  | { readonly kind: 'text'; readonly text: StringTensorText }
  | { readonly kind: 'corrupt'; readonly says: string; readonly expected?: string; readonly found?: string }
  /** The lengths alone are longer than what may be read here. */
  | { readonly kind: 'long' };

const LONGEST_VARINT = 10;
const CHECKSUM_BYTES = 4;

/**
 * A string tensor is stored as the lengths of its strings (varints), a checksum of the lengths,
 * then the text. Its checksum in the index runs over the lengths as fixed-width numbers, the stored
 * checksum of the lengths, and the text: not over the bytes as they lie in the file. Lengths and
 * their checksum are verified here; from them and the index follows the checksum of the text alone.
 */
export function readStringTensor(source: ByteSource, entry: BundleEntry, at: { isBigEndian: boolean; maxBytes: number }): StringTensor {
  if (entry.elements > entry.size) return { kind: 'corrupt', says: `is too short for the lengths of ${entry.elements} strings` };
  const head = source.read(0, Math.min(entry.size, entry.elements * LONGEST_VARINT + CHECKSUM_BYTES, at.maxBytes));
  const cursor = new ByteCursor(head);
  if (entry.elements > head.length) return { kind: 'long' };
  const running = { checksum: 0, text: 0 };
  for (let i = 0; i < entry.elements && !cursor.failed; i++) addLength(cursor.varint(), at.isBigEndian, running);
  const stored = cursor.take(CHECKSUM_BYTES);
  if (cursor.failed) {
    return head.length < entry.size ? { kind: 'long' } : { kind: 'corrupt', says: 'ends before the lengths of its strings do' };
  }
  const expected = at.isBigEndian ? stored.readUInt32BE(0) : stored.readUInt32LE(0);
  const found = maskCrc32c(running.checksum);
  if (expected !== found) {
    return { kind: 'corrupt', says: 'has string lengths whose checksum does not match', expected: hex32(expected), found: hex32(found) };
  }
  const offset = cursor.at;
  if (offset + running.text !== entry.size) {
    return { kind: 'corrupt', says: `has strings of ${running.text} bytes where ${entry.size - offset} are left for them` };
  }
  const prefix = crc32c(stored, running.checksum);
  // Joining checksums is its own inverse: prefix joined with the whole leaves the text.
  const checksum = combineCrc('crc32c', prefix, unmask(entry.checksum), running.text);
  return { kind: 'text', text: { offset, length: running.text, checksum } };
}

/** Lengths enter the checksum as 32-bit numbers; as 64-bit ones only where 32 do not suffice. */
function addLength(length: number, isBigEndian: boolean, running: { checksum: number; text: number }): void {
  running.text += length;
  const isWide = length > 0xffffffff;
  const bytes = Buffer.alloc(isWide ? 8 : 4);
  if (isWide) bytes.writeBigUInt64LE(Number.isFinite(length) ? BigInt(length) : 0n);
  else bytes.writeUInt32LE(length);
  running.checksum = crc32c(isBigEndian ? bytes.reverse() : bytes, running.checksum);
}

function unmask(masked: number): number {
  const rotated = (masked - 0xa282ead8) >>> 0;
  return ((rotated >>> 17) | (rotated << 15)) >>> 0;
}
