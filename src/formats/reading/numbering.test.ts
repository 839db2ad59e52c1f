import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareNumbering } from './numbering.ts';

describe('numbering of rank files', () => {
  it('is complete when every number below the expected count is there', () => {
    expect(compareNumbering([2, 0, 1], 3)).toEqual({ missing: [], missingCount: 0, surplusCount: 0 });
  });

  it('counts only gaps when nothing says how many there should be', () => {
    expect(compareNumbering([0, 3], null)).toEqual({ missing: [1, 2], missingCount: 2, surplusCount: 0 });
  });

  it('counts numbers beyond the expected count as surplus', () => {
    expect(compareNumbering([0, 1, 2, 3], 2)).toEqual({ missing: [], missingCount: 0, surplusCount: 2 });
  });

  it('names only the first of very many missing numbers', () => {
    const { missing, missingCount } = compareNumbering([0, 2 ** 50], null);
    expect(missing).toHaveLength(20);
    expect(missingCount).toBe(2 ** 50 - 1);
  });

  it('accounts for every number', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(60)), fc.option(fc.integer({ min: 1, max: 60 })), (found, expected) => {
        const { missing, missingCount, surplusCount } = compareNumbering(found, expected);
        const count = expected ?? Math.max(-1, ...found) + 1;
        expect(missingCount).toBe(count - found.filter((number) => number < count).length);
        expect(surplusCount).toBe(found.filter((number) => number >= count).length);
        expect(missing.every((number) => number < count && !found.includes(number))).toBe(true);
        expect(missing).toHaveLength(Math.min(missingCount, 20));
      }),
    );
  });
});
