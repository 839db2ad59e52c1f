import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideRestart, hasRestartLeft, makeBudget, refill, type TrainerEnd } from './restart-budget.ts';

const error = (lastGoodStep: number | null): TrainerEnd => ({ kind: 'error', lastGoodStep });

describe('the restart budget', () => {
  it('allows no restart by default', () => {
    expect(decideRestart(makeBudget(0), error(5))).toMatchObject({ restart: false, sentence: 'no restarts were allowed (--restarts)' });
  });

  it('is spent by errors at the same place, each waiting longer than the one before', () => {
    let budget = refill(makeBudget(4), 100);
    const seen: (readonly [boolean, number, string])[] = [];
    for (let n = 0; n < 5; n++) {
      const decision = decideRestart(budget, error(100));
      ({ budget } = decision);
      seen.push([decision.restart, decision.delayMs, decision.sentence]);
    }
    expect(seen).toEqual([
      [true, 0, 'restarts from step 100; 3 of 4 restarts left'],
      [true, 1000, 'restarts from step 100 in 1s; 2 of 4 restarts left'],
      [true, 2000, 'restarts from step 100 in 2s; 1 of 4 restarts left'],
      [true, 4000, 'restarts from step 100 in 4s; 0 of 4 restarts left'],
      [false, 0, 'all 4 restarts are spent without progress'],
    ]);
  });

  it('names one restart in the singular', () => {
    const first = decideRestart(makeBudget(1), error(100));
    expect(first.sentence).toBe('restarts from step 100; 0 of 1 restart left');
    expect(decideRestart(first.budget, error(100)).sentence).toBe('the only restart is spent without progress');
  });

  it('is full again after progress beyond the furthest step', () => {
    let { budget } = decideRestart(makeBudget(1), error(100));
    expect(budget.left).toBe(0);
    budget = refill(budget, 100);
    expect(budget.left).toBe(0);
    expect(decideRestart(budget, error(200))).toMatchObject({ restart: true, delayMs: 0 });
  });

  it('predicts whether an error would be followed by a restart', () => {
    expect(hasRestartLeft(makeBudget(0), 5)).toBe(false);
    const { budget } = decideRestart(makeBudget(1), error(100));
    expect([100, 101].map((step) => hasRestartLeft(budget, step))).toEqual([false, true]);
    for (const step of [100, 101]) expect(decideRestart(budget, error(step)).restart).toBe(hasRestartLeft(budget, step));
  });

  it('does not restart a finished or interrupted run', () => {
    expect(decideRestart(makeBudget(3), { kind: 'finished', lastGoodStep: 1 }).restart).toBe(false);
    expect(decideRestart(makeBudget(3), { kind: 'interruption', lastGoodStep: 1 }).restart).toBe(false);
  });

  it('restarts after an interruption of another node, without spending a restart', () => {
    const elsewhere = { kind: 'interruption-elsewhere', lastGoodStep: null } as const;
    expect(decideRestart(makeBudget(3), elsewhere)).toMatchObject({ restart: true, delayMs: 0, budget: { left: 3 } });
    expect(decideRestart(makeBudget(0), elsewhere)).toMatchObject({ restart: false });
  });

  it('is never spent by interruptions and stays between zero and its limit', () => {
    const end = fc.record({
      kind: fc.constantFrom<TrainerEnd['kind']>('error', 'interruption', 'interruption-elsewhere'),
      lastGoodStep: fc.option(fc.nat(20)),
    });
    fc.assert(
      fc.property(fc.nat(5), fc.array(end, { maxLength: 40 }), (limit, ends) => {
        let budget = makeBudget(limit);
        for (const one of ends) {
          const { budget: after } = decideRestart(budget, one);
          if (one.kind !== 'error') expect(after.left).toBeGreaterThanOrEqual(budget.left);
          expect(after.left).toBeGreaterThanOrEqual(0);
          expect(after.left).toBeLessThanOrEqual(limit);
          budget = after;
        }
      }),
    );
  });
});
