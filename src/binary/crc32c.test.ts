import fc from 'fast-check';
import { expect, it } from 'vitest';
import { crc32c } from '../core/checksums.ts';
import { crc32cOf } from './crc32c.ts';

it('is the sum that native code computes, of any bytes, in one piece or continued', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.uint8Array({ maxLength: 40 }), (first, second) => {
      const sum = crc32cOf(first);
      expect(sum).toBe(crc32c(first));
      expect(crc32cOf(second, sum)).toBe(crc32c(second, sum));
    }),
  );
});

it('is the check value of the standard', () => {
  expect(crc32cOf(Buffer.from('123456789'))).toBe(0xe3069283);
});
