import fc from 'fast-check';
import { expect, it } from 'vitest';
import { crc32, crc32c } from '../../core/checksums.ts';
import { combineCrc } from './crc-combine.ts';

it.each([
  ['crc32', crc32],
  ['crc32c', crc32c],
] as const)('the %s of two pieces follows from their checksums and the length of the second', (kind, sum) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.uint8Array({ maxLength: 300 }), (first, second) => {
      const joined = Buffer.concat([first, second]);
      expect(combineCrc(kind, sum(first), sum(second), second.length)).toBe(sum(joined));
    }),
  );
});
