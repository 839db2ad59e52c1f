import fc from 'fast-check';
import { crc32 as zlibCrc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { crc32, fletcher32 } from './checksums.ts';

describe('fletcher32', () => {
  it.each([
    ['a single byte', [1], 0x01000100],
    ['one word', [1, 2], 0x01020102],
    ['an odd number of bytes', [1, 2, 3], 0x05040402],
    ['ones only, whose sums never come to zero', Array<number>(5).fill(255), 0xff00ff00],
    ['zeros', Array<number>(8).fill(0), 0],
    ['more words than fit between two reductions', Array.from({ length: 1000 }, (_, i) => i % 256), 0x0d689183],
    ['the largest words for long', Array<number>(4001).fill(255), 0xff00ff00],
    ['a long odd run', Array.from({ length: 70001 }, (_, i) => (i * i * 31 + 7) % 256), 0x7ea3721a],
  ])('agrees with the checksum that the HDF5 library stored for %s', (_, bytes, expected) => {
    expect(fletcher32(Uint8Array.from(bytes))).toBe(expected);
  });

  it('does not depend on the place of the bytes in memory, nor on where a long run is cut into even parts', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3000 }), fc.nat(), (bytes, cut) => {
        const shifted = new Uint8Array(bytes.length + 1);
        shifted.set(bytes, 1);
        const expected = slowFletcher32(bytes);
        expect(fletcher32(bytes)).toBe(expected);
        expect(fletcher32(shifted.subarray(1))).toBe(expected);
        const at = (cut % (bytes.length + 1)) & ~1;
        expect(fletcher32(bytes.subarray(at), fletcher32(bytes.subarray(0, at)))).toBe(expected);
      }),
    );
  });
});

/** The definition, one word at a time. */
function slowFletcher32(bytes: Uint8Array): number {
  let low = 0;
  let high = 0;
  for (let i = 0; i < bytes.length; i += 2) {
    low = carry(low + (bytes[i] ?? 0) * 256 + (bytes[i + 1] ?? 0));
    high = carry(high + low);
  }
  return high * 65536 + low;
}

function carry(sum: number): number {
  return sum > 0xffff ? sum - 0xffff : sum;
}

it('the CRC-32 does not depend on how the bytes are cut into pieces', () => {
  const bytes = Buffer.alloc(3 * 1024 * 1024 + 17, 'holdfast keeps');
  const whole = zlibCrc32(bytes);
  expect(crc32(bytes)).toBe(whole);
  for (const cut of [1, 1000, 1024 * 1024, 2 * 1024 * 1024 + 3]) {
    expect(crc32(bytes.subarray(cut), crc32(bytes.subarray(0, cut)))).toBe(whole);
  }
});
