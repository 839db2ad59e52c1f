import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CadenceMeasurements, firstSaveMs, meanBetweenInterruptions, parseCadence, planCadence } from './cadence.ts';

const HOUR = 3_600_000;
const MEASURED: CadenceMeasurements = {
  save: { stall: 2000, persist: 60_000, slowdown: 0.05 },
  stepMs: 500,
  interruptions: 0,
  upMs: 0,
  restartMs: 60_000,
  flushed: 0,
  flushMs: 10_000,
};

describe('parseCadence', () => {
  it.each([
    ['10m', { kind: 'time', everyMs: 600_000 }],
    ['500steps', { kind: 'steps', everySteps: 500 }],
    ['1 step', { kind: 'steps', everySteps: 1 }],
    ['auto', { kind: 'auto' }],
  ])('reads %s', (text, value) => {
    expect(parseCadence(text)).toEqual({ ok: true, value });
  });

  it.each([
    ['500', '"500" has no unit: 10m, 500steps or auto'],
    ['0steps', 'a cadence must have at least one step'],
    ['0s', 'a cadence must be longer than zero'],
    ['often', '"often" is not a cadence: 10m, 500steps or auto'],
  ])('refuses %s and says what it takes', (text, reason) => {
    expect(parseCadence(text)).toEqual({ ok: false, reason });
  });
});

describe('a fixed cadence', () => {
  it('stays as requested, whatever Holdfast measures', () => {
    expect(planCadence({ kind: 'time', everyMs: 600_000 }, MEASURED)).toMatchObject({ everyMs: 600_000, everySteps: 1200 });
    expect(planCadence({ kind: 'steps', everySteps: 50 }, MEASURED)).toMatchObject({ everyMs: 25_000, everySteps: 50 });
    expect(planCadence({ kind: 'steps', everySteps: 50 }, { ...MEASURED, stepMs: null }).everySteps).toBe(50);
  });
});

describe('the automatic cadence', () => {
  it('saves after a minute to learn what a save costs', () => {
    expect(planCadence({ kind: 'auto' }, { ...MEASURED, save: null })).toMatchObject({
      everyMs: 60_000,
      sentence: 'every 1m until the first save was timed',
    });
  });

  it('follows the formula once a save was timed, rounded to whole steps', () => {
    const plan = planCadence({ kind: 'auto' }, MEASURED);
    // The exact optimum for a cost of 5 s and an interruption every 4 h.
    expect(plan.everyMs / 1000).toBeCloseTo(376, 0);
    expect(plan.everyMs).toBe((plan.everySteps ?? 0) * 500);
    expect(plan.sentence).toBe(
      'every 6m 16s: a save costs 5s, an interruption comes every 4h, no interruption yet, so Holdfast assumes that none will be flushed',
    );
  });

  it('saves more often when interruptions are frequent', () => {
    const calm = planCadence({ kind: 'auto' }, { ...MEASURED, upMs: 40 * HOUR, interruptions: 2 });
    const rough = planCadence({ kind: 'auto' }, { ...MEASURED, upMs: 40 * HOUR, interruptions: 60 });
    expect(rough.everyMs).toBeLessThan(calm.everyMs / 2);
  });

  it('grows only with measured flushes, and only by their proven success rate', () => {
    const seen = { ...MEASURED, upMs: 40 * HOUR, interruptions: 20 };
    const [none, some, all] = [0, 10, 20].map((flushed) => planCadence({ kind: 'auto' }, { ...seen, flushed }).everyMs);
    expect(some).toBeGreaterThan(none ?? 0);
    expect(all).toBeGreaterThan(some ?? 0);
    // One lucky flush proves next to nothing.
    const one = planCadence({ kind: 'auto' }, { ...MEASURED, upMs: 4 * HOUR, interruptions: 1, flushed: 1 });
    const without = planCadence({ kind: 'auto' }, { ...MEASURED, upMs: 4 * HOUR, interruptions: 1, flushed: 0 });
    expect(one.everyMs).toBeLessThan(without.everyMs * 1.06);
  });

  it('keeps its interval while a change would save almost nothing', () => {
    const first = planCadence({ kind: 'auto' }, MEASURED);
    const slightly = planCadence({ kind: 'auto' }, { ...MEASURED, upMs: 2 * HOUR }, first);
    expect(slightly.everyMs).toBe(first.everyMs);
    const slow = planCadence({ kind: 'auto' }, { ...MEASURED, save: { stall: 60_000, persist: 0, slowdown: 0 } }, first);
    expect(slow.everyMs).toBeGreaterThan(2 * first.everyMs);
  });

  it('keeps a distance between saves that cost nothing', () => {
    const free = { stall: 0, persist: 0, slowdown: 0 };
    expect(planCadence({ kind: 'auto' }, { ...MEASURED, save: free, interruptions: 3, flushed: 2 }).everyMs).toBeGreaterThanOrEqual(9_500);
  });

  it('stays within its bounds, for any measurements', () => {
    const time = fc.double({ min: 0, max: 1e8, noNaN: true });
    const count = fc.nat(500);
    fc.assert(
      fc.property(
        fc.tuple(time, time, time, fc.double({ min: 0, max: 1, noNaN: true })),
        count,
        count,
        ([stall, persist, upMs, slowdown], a, b) => {
          const save = { stall: stall / 100, persist: persist / 10, slowdown };
          const interruptions = Math.max(a, b);
          const plan = planCadence({ kind: 'auto' }, { ...MEASURED, save, upMs, interruptions, flushed: Math.min(a, b) });
          expect(plan.everyMs).toBeGreaterThanOrEqual(9_000);
          expect(plan.everyMs).toBeLessThanOrEqual(4 * HOUR + 1000);
        },
      ),
    );
  });
});

describe('meanBetweenInterruptions', () => {
  it('assumes some interruptions for a run that has seen none', () => {
    expect(meanBetweenInterruptions({ interruptions: 0, upMs: 0 })).toBe(4 * HOUR);
    expect(meanBetweenInterruptions({ interruptions: 0, upMs: 96 * HOUR })).toBe(100 * HOUR);
    expect(meanBetweenInterruptions({ interruptions: 44, upMs: 141 * HOUR }) / HOUR).toBeCloseTo(3.22, 2);
  });
});

describe('the first save of a run with an automatic cadence', () => {
  it.each([
    [null, 60_000],
    [1000, 60_000],
    [1200, 60_000],
    [6000, 300_000],
  ])('comes a minute after the first step, or later, when a stall of %s ms is two per cent of the time trained', (stallMs, dueMs) => {
    expect(firstSaveMs(stallMs)).toBe(dueMs);
  });
});
