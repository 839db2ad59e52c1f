import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planRetention, type Retention } from './retention.ts';
import type { SealedCheckpoint } from '../folder/scan.ts';

const KEEP_ONE: Retention = { last: 1, every: null, withinMs: null };

describe('retention', () => {
  const HOUR = 3_600_000;
  const sealed = [70, 60, 50, 40, 30, 20, 10].map(
    (step) =>
      ({
        name: `step-${step}`,
        manifest: { step, attempt: 1, sealedAt: new Date(step * HOUR).toISOString() },
      }) as unknown as SealedCheckpoint,
  );
  const at = (name: string) => sealed.find((one) => one.name === name) ?? null;
  const NOW = 75 * HOUR;
  const NOT_ROLLED_BACK = { rolledBack: [], rollback: null };

  it.each<[string, Retention, string | null, string[], number[]]>([
    ['the newest three', { ...KEEP_ONE, last: 3 }, 'step-70', [], [10, 20, 30, 40]],
    ['the newest one', KEEP_ONE, 'step-70', [], [10, 20, 30, 40, 50, 60]],
    ['every thirtieth step', { ...KEEP_ONE, every: 30 }, 'step-70', [], [10, 20, 40, 50]],
    ['a day', { ...KEEP_ONE, withinMs: 24 * HOUR }, 'step-70', [], [10, 20, 30, 40, 50]],
    ['pinned ones', KEEP_ONE, 'step-70', ['step-20'], [10, 30, 40, 50, 60]],
    ['the newest two from the last good, and all newer ones', { ...KEEP_ONE, last: 2 }, 'step-50', [], [10, 20, 30]],
    ['everything without a good one', KEEP_ONE, null, [], []],
  ])('keeps %s', (_, retention, good, pins, gone) => {
    const facts = { sealed, ...NOT_ROLLED_BACK, lastGood: good === null ? null : at(good), pins: new Set(pins), nowMs: NOW };
    expect(planRetention(facts, retention).remove.map(({ manifest }) => manifest.step)).toEqual(gone);
  });

  it('keeps every young checkpoint after the clock jumped back', () => {
    const facts = { sealed, ...NOT_ROLLED_BACK, lastGood: at('step-70'), pins: new Set<string>(), nowMs: 0 };
    expect(planRetention(facts, { ...KEEP_ONE, withinMs: 1 }).remove).toEqual([]);
  });

  it('always keeps the last good one and everything newer, under any rules', () => {
    const rules = fc.record({
      last: fc.integer({ min: 1, max: 9 }),
      every: fc.option(fc.integer({ min: 1, max: 100 })),
      withinMs: fc.option(fc.nat()),
    });
    fc.assert(
      fc.property(rules, fc.integer({ min: 0, max: 6 }), fc.integer({ min: -1e12, max: 1e12 }), (retention, index, nowMs) => {
        const good = sealed[index] as SealedCheckpoint;
        const { keep, remove } = planRetention({ sealed, ...NOT_ROLLED_BACK, lastGood: good, pins: new Set(), nowMs }, retention);
        expect(keep.length + remove.length).toBe(sealed.length);
        expect(keep.slice(0, index + 1).map(({ checkpoint }) => checkpoint)).toEqual(sealed.slice(0, index + 1));
      }),
    );
  });
});
