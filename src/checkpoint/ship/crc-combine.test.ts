import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { crc32c } from '../../core/checksums.ts';
import { combineCrc32c } from './crc-combine.ts';

describe('combineCrc32c', () => {
  it('gives the checksum of the whole from the checksums of its halves, at any cut', () => {
    const bytes = randomBytes(3000);
    for (let cut = 0; cut <= bytes.length; cut += 37) {
      const [head, tail] = [bytes.subarray(0, cut), bytes.subarray(cut)];
      expect(combineCrc32c(crc32c(head), crc32c(tail), tail.length)).toBe(crc32c(bytes));
    }
  });

  it('agrees with reading the bytes for lengths with high bits set', () => {
    const tail = Buffer.alloc((1 << 26) + 12345, 0x5a);
    const whole = crc32c(tail, crc32c(Buffer.from('head')));
    expect(combineCrc32c(crc32c(Buffer.from('head')), crc32c(tail), tail.length)).toBe(whole);
  });

  it('is associative beyond four gibibytes, where no buffer reaches', () => {
    const gib = 2 ** 30;
    const [a, b, c] = [0x12345678, 0x9abcdef0, 0x0badcafe];
    const left = combineCrc32c(combineCrc32c(a, b, 40 * gib), c, 300 * gib);
    const right = combineCrc32c(a, combineCrc32c(b, c, 300 * gib), 340 * gib);
    expect(left).toBe(right);
  });
});
