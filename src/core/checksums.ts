import { crc32c as nativeCrc32c } from '@node-rs/crc32';
import { crc32 as zlibCrc32 } from 'node:zlib';

/** CRC-32 (zip, IEEE 802.3) of the bytes, continuing from `previous`. */
export function crc32(bytes: Uint8Array, previous = 0): number {
  return zlibCrc32(bytes, previous);
}

/** CRC-32C (Castagnoli) of the bytes, continuing from `previous`. */
export function crc32c(bytes: Uint8Array, previous = 0): number {
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
