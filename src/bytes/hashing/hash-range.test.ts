import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { fletcher32, hex32 } from '../../core/checksums.ts';
import { hashRange } from './hash-range.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-hash-'));
const MIB = 1024 * 1024;

afterAll(() => rmSync(folder, { recursive: true }));

describe('hashing a range with Fletcher-32', () => {
  it.each([
    ['an odd number of bytes that fit one window', 12_345],
    ['more bytes than a window holds', 9 * MIB + 1],
  ])('gives the checksum of %s as if they were summed at once', async (_, length) => {
    const bytes = Buffer.from(Array.from({ length: length + 3 }, (__, i) => (i * i + 7) & 0xff));
    const path = join(folder, String(length));
    writeFileSync(path, bytes);
    const handle = openSync(path, 'r');
    try {
      const task = {
        check: 0,
        part: 0,
        algorithm: 'fletcher32',
        encoding: 'stored',
        offset: 3,
        length,
        decodedLength: length,
        expectedAt: null,
      } as const;
      expect(await hashRange(handle, task)).toEqual({ value: hex32(fletcher32(bytes.subarray(3))), problem: null });
    } finally {
      closeSync(handle);
    }
  });
});
