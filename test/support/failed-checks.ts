import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32c, hex32, maskCrc32c } from '../../src/core/checksums.ts';
import type { Findings } from '../../src/formats/reading/findings.ts';

/** The CRC-32C checks of these findings that do not match the files below `root`. */
export function failedChecks(root: string, { checks }: Findings): readonly string[] {
  return checks
    .filter(({ file, offset, length, algorithm, expected }) => {
      const sum = crc32c(readFileSync(join(root, file)).subarray(offset, offset + length));
      return hex32(algorithm === 'crc32c-masked' ? maskCrc32c(sum) : sum) !== expected;
    })
    .map(({ what }) => what);
}
