import { crc32 } from 'node:zlib';
import { type Checksum, loadOwnCrc32c, OWN_CRC32C } from '../core/own-crc32c.ts';
import { crc32cOf } from './crc32c.ts';
import { unpackedFile } from './unpack.ts';

/**
 * In place of core/native-checksums.ts: unpacks and loads the addons. Where it may not unpack or
 * execute files (a read-only root, mounts with noexec), slower code computes the same sums.
 */
export function loadCrc32(): Checksum {
  return loadPackage()?.crc32 ?? crc32;
}

/** Loads the CRC-32C: native code if it can be unpacked, else plain code. */
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
