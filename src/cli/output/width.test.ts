import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { displayWidth, fitWidth } from './width.ts';

describe('displayWidth', () => {
  it.each([
    ['', 0],
    ['step-100.pt', 11],
    ['Größe', 5],
    ['重み', 4],
    ['e\u0301', 1],
    ['😀', 2],
    ['한국어', 6],
    ['\u001b[31mred\u001b[39m', 3],
    ['a\u200bb', 2],
  ])('of %j is %i columns', (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });
});

describe('fitWidth', () => {
  it('keeps the part that fits and marks the cut', () => {
    expect(fitWidth('step-100', 8)).toBe('step-100');
    expect(fitWidth('step-1000', 8)).toBe('step-10…');
    expect(fitWidth('重み重み', 5)).toBe('重み…');
  });

  it('never takes more columns than allowed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(30), (text, columns) => {
        expect(displayWidth(fitWidth(text, columns))).toBeLessThanOrEqual(columns);
      }),
    );
  });
});
