import fc from 'fast-check';
import { expect, it } from 'vitest';
import { naturalOrder } from './natural-order.ts';

it.each([
  [['shard-10', 'shard-2', 'shard-1']],
  [['a10b2', 'a2b10', 'a2b9']],
  [['step-100000000000000000000', 'step-99999999999999999999']],
  [['b', 'a10', 'a']],
])('names are ordered as people count: %j', (names) => {
  expect(names.toSorted(naturalOrder)).toEqual(names.toReversed());
});

it('no two names are equal, and the order does not depend on the order of the comparison', () => {
  const names = fc.array(fc.string({ unit: fc.constantFrom('0', '1', '9', 'a', '-') }), { minLength: 3, maxLength: 3 });
  fc.assert(
    fc.property(names, ([a = '', b = '', c = '']) => {
      expect(Math.sign(naturalOrder(a, b))).toBe(a === b ? 0 : -Math.sign(naturalOrder(b, a)));
      if (a !== b) expect(naturalOrder(a, b)).not.toBe(0);
      if (naturalOrder(a, b) < 0 && naturalOrder(b, c) < 0) expect(naturalOrder(a, c)).toBeLessThan(0);
    }),
    { numRuns: 2000 },
  );
});
