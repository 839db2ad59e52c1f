import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  asyncInterval,
  asyncWallPerWork,
  availabilityPeriod,
  dalyHigherOrderInterval,
  dalyInterval,
  exactInterval,
  exactIntervalWithFlush,
  leastWastePeriod,
  quantiseToSteps,
  wallPerWork,
  wallPerWorkWithFlush,
  youngInterval,
  youngIntervalWithFlush,
} from './checkpoint-interval.ts';

describe('the interval between checkpoints', () => {
  it.each([
    {
      save: 60,
      between: 7200,
      restart: 300,
      young: 929.52,
      daly: 888.68,
      higher: 889.95,
      exact: 889.95,
      wall: [1.18959, 1.2829, 1.2292, 1.3814],
    },
    {
      save: 30,
      between: 7200,
      restart: 120,
      young: 657.27,
      daly: 632.72,
      higher: 637.42,
      exact: 637.42,
      wall: [1.11557, 1.1445, 1.177, 1.3332],
    },
    {
      save: 300,
      between: 86_400,
      restart: 600,
      young: 7200,
      daly: 6924.96,
      higher: 7001.39,
      exact: 7001.4,
      wall: [1.09576, 2.0209, 1.1892, 1.1159],
    },
    {
      save: 5,
      between: 1200,
      restart: 90,
      young: 109.54,
      daly: 108.58,
      higher: 106.24,
      exact: 106.24,
      wall: [1.18258, 1.2477, 2.5154, 6.8875],
    },
    {
      save: 60,
      between: 1200,
      restart: 300,
      young: 379.47,
      daly: 364.26,
      higher: 340.53,
      exact: 340.57,
      wall: [1.79286, 1.7969, 3.1771, 8.6095],
    },
    {
      save: 600,
      between: 7200,
      restart: 600,
      young: 2939.39,
      daly: 2459.41,
      higher: 2553,
      exact: 2553.75,
      wall: [1.68431, 3.4733, 1.72, 1.7217],
    },
  ])(
    'matches the reference for a save of $save s and an interruption every $between s',
    ({ young, daly, higher, exact, wall, ...costs }) => {
      expect(youngInterval(costs)).toBeCloseTo(young, 2);
      expect(dalyInterval(costs)).toBeCloseTo(daly, 2);
      expect(dalyHigherOrderInterval(costs)).toBeCloseTo(higher, 2);
      expect(exactInterval(costs)).toBeCloseTo(exact, 2);
      expect(wallPerWork(exactInterval(costs), costs)).toBeCloseTo(wall[0] ?? 0, 5);
      for (const [index, interval] of [300, 1800, 3600].entries())
        expect(wallPerWork(interval, costs)).toBeCloseTo(wall[index + 1] ?? 0, 4);
    },
  );

  it('matches the periods in the literature', () => {
    const costs = { save: 60, between: 7200, restart: 300 };
    expect(availabilityPeriod(costs)).toBeCloseTo(1010.58, 2);
    expect(leastWastePeriod(costs)).toBeCloseTo(909.95, 2);
  });

  it('is the mean time between interruptions when a save takes twice as long', () => {
    expect(dalyHigherOrderInterval({ save: 20, between: 10, restart: 0 })).toBe(10);
  });

  it('is quantised by evaluating both neighbours: 22.7 steps are 23', () => {
    const costs = { save: 10, between: 6000, restart: 600 };
    const best = exactInterval(costs);
    expect(best).toBeCloseTo(339.78, 2);
    expect([22, 23, 24].map((steps) => wallPerWork(steps * 15, costs).toFixed(5))).toEqual(['1.17154', '1.17152', '1.17162']);
    expect(quantiseToSteps(best, 15, (interval) => wallPerWork(interval, costs))).toBe(23);
    expect(quantiseToSteps(3, 15, (interval) => wallPerWork(interval, costs))).toBeGreaterThanOrEqual(1);
  });
});

describe('the interval with flushes', () => {
  const costs = { save: 60, between: 7200, restart: 300 };

  it.each([
    { probability: 0, first: 929.5, exact: 890, overhead: 0.1896, unstretched: 0.1896 },
    { probability: 0.5, first: 1314.5, exact: 1297.2, overhead: 0.1451, unstretched: 0.1521 },
    { probability: 0.8, first: 2078.5, exact: 2127.3, overhead: 0.1072, unstretched: 0.1308 },
    { probability: 0.9, first: 2939.4, exact: 3100.1, overhead: 0.0887, unstretched: 0.124 },
    { probability: 0.95, first: 4156.9, exact: 4548.5, overhead: 0.0759, unstretched: 0.1206 },
    { probability: 0.99, first: 9295.2, exact: 11_773, overhead: 0.0593, unstretched: 0.1178 },
  ])('is $exact s when $probability of the interruptions are flushed', ({ probability, first, exact, overhead, unstretched }) => {
    const chance = { probability, flush: 60 };
    expect(youngIntervalWithFlush(costs, chance)).toBeCloseTo(first, 1);
    const best = exactIntervalWithFlush(costs, chance);
    expect(Math.abs(best - exact)).toBeLessThan(exact * 1e-4);
    expect(wallPerWorkWithFlush(best, costs, chance) - 1).toBeCloseTo(overhead, 4);
    expect(wallPerWorkWithFlush(889.95, costs, chance) - 1).toBeCloseTo(unstretched, 4);
  });

  it('is infinite when every interruption is flushed, and then costs restarts and flushes only', () => {
    const chance = { probability: 1, flush: 60 };
    expect(exactIntervalWithFlush(costs, chance)).toBe(Number.POSITIVE_INFINITY);
    expect(wallPerWorkWithFlush(1e7, costs, chance) - 1).toBeCloseTo(0.0509, 4);
  });

  it('never shrinks as flushes succeed more often, and never costs more at its optimum', () => {
    const part = fc.double({ min: 0, max: 0.99, noNaN: true });
    const times = fc.record({
      save: fc.double({ min: 0.1, max: 600, noNaN: true }),
      between: fc.double({ min: 1200, max: 1e6, noNaN: true }),
      restart: fc.double({ min: 1, max: 900, noNaN: true }),
    });
    fc.assert(
      fc.property(times, part, part, (some, a, b) => {
        const [less, more] = [Math.min(a, b), Math.max(a, b)].map((probability) => ({ probability, flush: 0 }));
        if (less === undefined || more === undefined) return;
        const [low, high] = [exactIntervalWithFlush(some, less), exactIntervalWithFlush(some, more)];
        // Far beyond the mean time between interruptions the cost is flat to the last digit, and
        // all intervals are equally good.
        if (high < low)
          expect(wallPerWorkWithFlush(low, some, more)).toBeLessThanOrEqual(wallPerWorkWithFlush(high, some, more) * (1 + 1e-13));
        expect(wallPerWorkWithFlush(high, some, more)).toBeLessThanOrEqual(wallPerWorkWithFlush(low, some, less) * (1 + 1e-9));
      }),
    );
  });
});

describe('the interval of asynchronous saves', () => {
  it.each([
    { save: { stall: 2, persist: 60, slowdown: 0.05 }, interval: 265, overhead: 0.0914 },
    { save: { stall: 10, persist: 60, slowdown: 0.1 }, interval: 469.4, overhead: 0.1246 },
    { save: { stall: 2, persist: 300, slowdown: 0.05 }, interval: 483.5, overhead: 0.1651 },
  ])('is $interval s for $save', ({ save, interval, overhead }) => {
    const best = asyncInterval(save, 7200);
    expect(best).toBeCloseTo(interval, 1);
    expect(asyncWallPerWork(best, save, { between: 7200, restart: 300 }) - 1).toBeCloseTo(overhead, 4);
  });

  it('lets one save end before the next begins', () => {
    const save = { stall: 0.1, persist: 1000, slowdown: 0 };
    expect(asyncInterval(save, 7200)).toBeCloseTo(999.9, 1);
  });
});

describe('the exact interval', () => {
  it('is better than both neighbours, for any costs', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 1e4, noNaN: true }), fc.double({ min: 10, max: 1e7, noNaN: true }), (save, between) => {
        const costs = { save, between, restart: 0 };
        const best = exactInterval(costs);
        const cost = wallPerWork(best, costs);
        if (!Number.isFinite(cost)) return;
        expect(cost).toBeLessThanOrEqual(wallPerWork(best * 1.01, costs) * (1 + 1e-12));
        expect(cost).toBeLessThanOrEqual(wallPerWork(best * 0.99, costs) * (1 + 1e-12));
      }),
    );
  });
});
