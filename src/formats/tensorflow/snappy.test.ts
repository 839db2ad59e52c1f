import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeSnappy } from './snappy.ts';

/** A plain encoder: repeats what it can find four bytes of, at most 64 bytes at a time. */
function encodeSnappy(bytes: Buffer): Buffer {
  const parts: Buffer[] = [varint(bytes.length)];
  let literalFrom = 0;
  let at = 0;
  while (at < bytes.length) {
    const from = at >= 4 ? bytes.subarray(0, at).lastIndexOf(bytes.subarray(at, at + 4)) : -1;
    if (from < 0 || at + 4 > bytes.length) {
      at++;
      continue;
    }
    let length = 4;
    while (length < 64 && at + length < bytes.length && bytes[from + length] === bytes[at + length]) length++;
    parts.push(...literal(bytes.subarray(literalFrom, at)), Buffer.from([((length - 1) << 2) | 2, (at - from) & 255, (at - from) >> 8]));
    at += length;
    literalFrom = at;
  }
  parts.push(...literal(bytes.subarray(literalFrom)));
  return Buffer.concat(parts);
}

function literal(bytes: Buffer): Buffer[] {
  if (bytes.length === 0) return [];
  const tag =
    bytes.length <= 60 ? Buffer.from([(bytes.length - 1) << 2]) : Buffer.from([61 << 2, (bytes.length - 1) & 255, (bytes.length - 1) >> 8]);
  return [tag, bytes];
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest & 127) | 128);
  }
}

describe('decodeSnappy', () => {
  it('decodes what was encoded, repeats included', () => {
    const words = fc.array(fc.constantFrom('kernel', 'bias', '/', '0', 'a much longer part of a name that repeats'), { maxLength: 200 });
    fc.assert(
      fc.property(words, (parts) => {
        const bytes = Buffer.from(parts.join(''));
        expect(decodeSnappy(encodeSnappy(bytes), 1 << 20)).toEqual(bytes);
      }),
    );
  });

  it('repeats bytes that it has just written', () => {
    const runOfTwelve = Buffer.from([13, 0, 0x61, ((12 - 4) << 2) | 1, 1]);
    expect(decodeSnappy(Buffer.from([12, 0, 0x61, ((11 - 4) << 2) | 1, 1]), 100)?.toString()).toBe('a'.repeat(12));
    expect(decodeSnappy(runOfTwelve, 100)).toBeNull();
  });

  it('refuses more bytes than its limit', () => {
    expect(decodeSnappy(Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f, 0]), 1 << 20)).toBeNull();
  });

  it('returns a block or null for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const decoded = decodeSnappy(Buffer.from(bytes), 4096);
        expect(decoded === null || decoded.length <= 4096).toBe(true);
      }),
    );
  });
});
