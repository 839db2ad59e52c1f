import type * as Native from '@node-rs/crc32';
import { createRequire } from 'node:module';

export type NativeChecksums = Pick<typeof Native, 'crc32' | 'crc32c'>;

/** The native code behind the checksums. The single executable has another file in place of this one (tools/build-binary.ts). */
export function loadNativeChecksums(): NativeChecksums {
  return createRequire(import.meta.url)('@node-rs/crc32') as typeof Native;
}
