import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { goldenSection } from './golden-section.ts';
import { lambertW0 } from './lambert-w.ts';
import { normalQuantile, provenRate, studentQuantile } from './quantiles.ts';

describe('lambertW0', () => {
  it('undoes w·eʷ everywhere on its branch', () => {
    fc.assert(
      fc.property(fc.double({ min: -1, max: 0, noNaN: true }), (w) => {
        const back = lambertW0(Math.max(-1 / Math.E, w * Math.exp(w)));
        expect(back * Math.exp(back)).toBeCloseTo(w * Math.exp(w), 12);
        expect(back).toBeGreaterThanOrEqual(-1);
      }),
    );
  });

  it.each([0.1, -0.4, Number.NaN])('refuses %d, which is not on the part that is needed', (x) => {
    expect(() => lambertW0(x)).toThrow(RangeError);
  });
});

describe('goldenSection', () => {
  it('finds the lowest point of a valley', () => {
    fc.assert(
      fc.property(fc.double({ min: -100, max: 100, noNaN: true }), (lowest) => {
        expect(goldenSection((x) => (x - lowest) ** 2, [-101, 101])).toBeCloseTo(lowest, 5);
      }),
    );
  });
});

describe('quantiles', () => {
  it.each([
    [0.5, 0],
    [0.9, 1.281552],
    [0.95, 1.644854],
    [0.995, 2.575829],
    [0.05, -1.644854],
    [0.9999, 3.719016],
  ])('of the normal distribution: %d at %d', (p, x) => {
    expect(normalQuantile(p)).toBeCloseTo(x, 5);
  });

  it.each([
    [1, 6.3138],
    [2, 2.92],
    [3, 2.3534],
    [5, 2.015],
    [10, 1.8125],
    [30, 1.6973],
    [1000, 1.6464],
  ])('of Student’s t with %d degrees at 0.95: %d within one percent', (degrees, t) => {
    expect(Math.abs(studentQuantile(0.95, degrees) / t - 1)).toBeLessThan(0.01);
  });
});

describe('provenRate', () => {
  it.each([
    [0, 0, 0],
    [0, 10, 0],
    [1, 1, 0.05],
    [3, 3, 0.3684],
    [10, 10, 0.7411],
    [59, 59, 0.9505],
    [9, 10, 0.6058],
    [95, 100, 0.8977],
  ])('of %d successes in %d tries is %d', (successes, tries, rate) => {
    expect(provenRate(successes, tries)).toBeCloseTo(rate, 4);
  });

  it('is never above the observed share, and grows with every success', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.nat(300), (tries, seen) => {
        const successes = Math.min(seen, tries);
        const rate = provenRate(successes, tries);
        expect(rate).toBeLessThanOrEqual(successes / tries);
        expect(provenRate(successes + 1, tries + 1)).toBeGreaterThanOrEqual(rate);
      }),
    );
  });
});
