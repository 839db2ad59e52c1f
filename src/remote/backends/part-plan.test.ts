import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { crc32c, hex32 } from '../../core/checksums.ts';
import { PART_BYTES } from '../../seal/manifest.ts';
import { compareStored, decodeCrc32c, encodeCrc32c, partsChecksum, planObject } from './part-plan.ts';

const MIB = 1024 * 1024;

describe('planObject', () => {
  it('computes the checksum of every part and of the whole without reading', () => {
    const bytes = randomBytes(75 * MIB + 7);
    const sums: string[] = [];
    for (let at = 0; at < bytes.length; at += PART_BYTES) sums.push(hex32(crc32c(bytes.subarray(at, at + PART_BYTES))));
    const plan = planObject({ path: 'x', size: bytes.length, crc32c: sums });
    expect(plan.crc32c).toBe(crc32c(bytes));
    expect(plan.parts.map(({ size }) => size)).toEqual([32 * MIB, 32 * MIB, 11 * MIB + 7]);
    for (const { offset, size, crc32c: sum } of plan.parts) expect(sum).toBe(crc32c(bytes.subarray(offset, offset + size)));
  });

  it('makes no more parts than S3 accepts, however large the file', () => {
    const size = 5 * 2 ** 40;
    const plan = planObject({ path: 'x', size, crc32c: Array.from({ length: Math.ceil(size / PART_BYTES) }, () => '00000000') });
    expect(plan.parts.length).toBeLessThanOrEqual(10_000);
    expect(plan.parts.reduce((sum, part) => sum + part.size, 0)).toBe(size);
  });

  it('makes no parts for an empty file', () => {
    expect(planObject({ path: 'x', size: 0, crc32c: [] })).toEqual({ size: 0, crc32c: 0, parts: [] });
  });
});

describe('compareStored', () => {
  const parts = [
    { index: 0, offset: 0, size: 4, crc32c: 1 },
    { index: 1, offset: 4, size: 4, crc32c: 2 },
  ];
  const plan = { size: 8, crc32c: 99, parts };
  it.each([
    ['same', { size: 8, checksum: { kind: 'whole', crc32c: 99 } }],
    ['different', { size: 8, checksum: { kind: 'whole', crc32c: 98 } }],
    ['different', { size: 7, checksum: { kind: 'whole', crc32c: 99 } }],
    ['unknown', { size: 8, checksum: null }],
    ['same', { size: 8, checksum: { kind: 'parts', crc32c: partsChecksum(parts), count: 2 } }],
    ['different', { size: 8, checksum: { kind: 'parts', crc32c: 5, count: 2 } }],
    ['unknown', { size: 8, checksum: { kind: 'parts', crc32c: 5, count: 3 } }],
  ] as const)('says %s', (expected, stored) => expect(compareStored({ version: '', ...stored }, plan)).toBe(expected));
});

describe('encodeCrc32c', () => {
  it('writes what S3 documents: big-endian, base64', () => {
    expect(encodeCrc32c(crc32c(Buffer.from('123456789')))).toBe('4waSgw==');
    expect(decodeCrc32c('4waSgw==')).toBe(0xe3069283);
    expect(decodeCrc32c('AAAA')).toBeNull();
  });
});
