import { crc32 } from 'node:zlib';
import type { NativeChecksums } from '../core/native-checksums.ts';
import { crc32cOf } from './crc32c.ts';
import { unpackedFile } from './unpack.ts';

/**
 * In place of core/native-checksums.ts: the addon is unpacked and loaded. Where nothing may be unpacked, or what was unpacked may not be
 * executed (a read-only root, mounts with noexec), the same sums come from slower code.
 */
export function loadNativeChecksums(): NativeChecksums {
  try {
    const addon: { exports: Partial<NativeChecksums> } = { exports: {} };
    process.dlopen(addon, unpackedFile('native/crc32.node'));
    const { crc32: fast, crc32c } = addon.exports;
    if (fast !== undefined && crc32c !== undefined) return { crc32: fast, crc32c };
  } catch {
    // What is left is right, and slower.
  }
  return {
    crc32: (bytes, previous) => crc32(bytes, previous ?? 0),
    crc32c: (bytes, previous) => crc32cOf(typeof bytes === 'string' ? Buffer.from(bytes) : bytes, previous ?? 0),
  };
}
