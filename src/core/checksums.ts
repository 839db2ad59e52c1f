import { crc32 as zlibCrc32 } from 'node:zlib';
import { loadCrc32, loadCrc32c } from './native-checksums.ts';
import type { Checksum } from './own-crc32c.ts';

/** CRC-32 (zip, IEEE 802.3) of the bytes, continuing from `previous`. */
export function crc32(bytes: Uint8Array, previous = 0): number {
  if (bytes.length < LONG_BYTES) return zlibCrc32(bytes, previous);
  nativeCrc32 ??= loadCrc32();
  return nativeCrc32(bytes, previous);
}

/** Loaded on first use: native code takes as long to load as forty modules. */
let nativeCrc32: Checksum | null = null;
let nativeCrc32c: Checksum | null = null;

/**
 * From this size on, the native package pays for its load time: it is three times as fast as
 * zlib's.
 */
const LONG_BYTES = 1024 * 1024;

/** CRC-32 of a range that is too short for native code: the call would cost more than it saves. */
export function shortCrc32(bytes: Uint8Array, start: number, end: number): number {
  let crc = 0xffff_ffff;
  for (let at = start; at < end; at++) crc = (CRC32_TABLE[(crc ^ (bytes[at] as number)) & 0xff] as number) ^ (crc >>> 8);
  return ~crc >>> 0;
}

const CRC32_TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ ((crc & 1) === 0 ? 0 : 0xedb8_8320);
  return crc;
});

/** CRC-32C (Castagnoli) of the bytes, continuing from `previous`. */
export function crc32c(bytes: Uint8Array, previous = 0): number {
  nativeCrc32c ??= loadCrc32c();
  return nativeCrc32c(bytes, previous);
}

/** The masking TensorFlow and LevelDB apply to a CRC-32C before they store it. */
export function maskCrc32c(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

/** A 32-bit checksum as eight hexadecimal digits. */
export function hex32(value: number): string {
  return (value >>> 0).toString(16).padStart(8, '0');
}

/**
 * Fletcher-32 of the bytes as HDF5 computes it: over big-endian 16-bit words, both sums starting at
 * zero. An odd last byte is the high half of a word. Continues from `previous` when the bytes
 * before were an even number.
 */
export function fletcher32(bytes: Uint8Array, previous = 0): number {
  const isAligned = bytes.byteOffset % 2 === 0 && IS_LITTLE_ENDIAN;
  const whole = bytes.length & ~1;
  // Addition with end-around carry commutes with swapping bytes. The sum uses the processor's byte
  // order and swaps at the end.
  const words = isAligned
    ? new Uint16Array(bytes.buffer, bytes.byteOffset, whole / 2)
    : new Uint16Array(new Uint8Array(bytes.subarray(0, whole)).buffer);
  const swap = IS_LITTLE_ENDIAN ? swap16 : (value: number): number => value;
  const sums = fletcherSums(words, swap(previous & 0xffff), swap(previous >>> 16));
  let low = swap(sums.low);
  let high = swap(sums.high);
  if (bytes.length > whole) {
    low = fold16(low + (bytes[whole] as number) * 256);
    high = fold16(high + low);
  }
  return ((high << 16) | low) >>> 0;
}

const IS_LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
/**
 * Words between two reductions: the high sum then stays below 2^32 (at most 2^16 × (1 + n + n × (n
 * + 1) / 2)).
 */
const WORDS_PER_REDUCTION = 352;

function fletcherSums(words: Uint16Array, startLow: number, startHigh: number): { readonly low: number; readonly high: number } {
  let low = startLow;
  let high = startHigh;
  const quads = words.length & ~3;
  let at = 0;
  while (at < quads) {
    const end = Math.min(at + WORDS_PER_REDUCTION, quads);
    // Four words a turn: the high sum gains four times the previous low sum, and each word once for
    // each turn it stays in the sum.
    for (; at < end; at += 4) {
      const a = words[at] as number;
      const ab = a + (words[at + 1] as number);
      const abc = ab + (words[at + 2] as number);
      const abcd = abc + (words[at + 3] as number);
      high = (high + (low << 2) + a + ab + abc + abcd) | 0;
      low = (low + abcd) | 0;
    }
    low = fold16(low);
    high = fold16(high);
  }
  for (; at < words.length; at++) {
    low = fold16(low + (words[at] as number));
    high = fold16(high + low);
  }
  return { low, high };
}

/** A 32-bit sum (unsigned) reduced to 16 bits with end-around carry; zero only for zero. */
function fold16(sum: number): number {
  const once = (sum & 0xffff) + (sum >>> 16);
  return (once & 0xffff) + (once >>> 16);
}

function swap16(value: number): number {
  return ((value & 0xff) << 8) | (value >>> 8);
}
