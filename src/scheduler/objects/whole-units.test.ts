import { describe, expect, it } from 'vitest';
import { wholeUnits } from './whole-units.ts';

describe('a quantity in whole units', () => {
  it.each([
    ['1.5', 1000, 1500],
    ['1Ki', 1, 1024],
    ['0.1', 1, 1],
    ['-0.5', 1, -0],
    ['four', 1, null],
    // A sum with an infinite amount would never be less again.
    ['1e999', 1000, 2 ** 63],
    ['-1e999', 1, -(2 ** 63)],
  ] as const)('%s, in parts of %i, is %s', (text, scale, units) => {
    expect(wholeUnits(text, scale)).toBe(units);
  });
});
