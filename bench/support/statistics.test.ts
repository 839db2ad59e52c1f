import fc from 'fast-check';
import { expect, it } from 'vitest';
import { summarise } from './statistics.ts';

it('the median of an even number of rounds lies between the middle two', () => {
  expect(summarise([4, 1, 3, 2])).toEqual({ median: 2.5, min: 1, max: 4, rounds: 4 });
});

it('the median lies between the least and the greatest', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ noNaN: true, min: -1e9, max: 1e9 }), { minLength: 1 }), (values) => {
      const { min, median, max } = summarise(values);
      expect(min <= median && median <= max).toBe(true);
    }),
  );
});
