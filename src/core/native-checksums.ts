import type * as Package from '@node-rs/crc32';
import { createRequire } from 'node:module';
import { installedFile } from './installation.ts';
import { type Checksum, loadOwnCrc32c, OWN_CRC32C } from './own-crc32c.ts';

/**
 * The native code behind the checksums. The single executable replaces this file with another
 * (tools/build-binary.ts).
 */
export function loadCrc32(): Checksum {
  return loadPackage().crc32;
}

/**
 * A clone without a compiler, and a package on another system than ours, have only the package's
 * code.
 */
export function loadCrc32c(): Checksum {
  return loadOwnCrc32c(installedFile(OWN_CRC32C)) ?? loadPackage().crc32c;
}

function loadPackage(): typeof Package {
  return createRequire(import.meta.url)('@node-rs/crc32') as typeof Package;
}
