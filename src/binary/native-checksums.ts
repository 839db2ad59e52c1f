import { crc32 } from 'node:zlib';
import { type Checksum, loadOwnCrc32c, OWN_CRC32C } from '../core/own-crc32c.ts';
import { crc32cOf } from './crc32c.ts';
import { unpackedFile } from './unpack.ts';

/**
 * In place of core/native-checksums.ts: the addons are unpacked and loaded. Where nothing may be unpacked, or what was unpacked may not be
 * executed (a read-only root, mounts with noexec), the same sums come from slower code.
 */
export function loadCrc32(): Checksum {
  return loadPackage()?.crc32 ?? crc32;
}

export function loadCrc32c(): Checksum {
  return loadOwn() ?? loadPackage()?.crc32c ?? crc32cOf;
}

function loadOwn(): Checksum | null {
  try {
    return loadOwnCrc32c(unpackedFile(OWN_CRC32C));
  } catch {
    return null;
  }
}

function loadPackage(): { readonly crc32?: Checksum; readonly crc32c?: Checksum } | null {
  const addon = { exports: {} };
  try {
    process.dlopen(addon, unpackedFile('native/crc32.node'));
    return addon.exports;
  } catch {
    return null;
  }
}
