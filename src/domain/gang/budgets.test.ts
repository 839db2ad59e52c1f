import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AttemptEnd, type Budgets, FULL_BUDGETS, noteProgress, spend } from './budgets.ts';

const ERROR: AttemptEnd = { action: 'spend', trace: { exitCode: 1, line: null }, lastGoodStep: null, backoffLimit: null };

/** The outcome of each end, in their order. */
function play(ends: readonly Partial<AttemptEnd>[], from: Budgets = FULL_BUDGETS): readonly ReturnType<typeof spend>[] {
  let budgets = from;
  return ends.map((end) => {
    const decision = spend(budgets, { ...ERROR, ...end });
    budgets = decision.budgets;
    return decision;
  });
}

describe('the budgets of a run', () => {
  it('let 100 interruptions pass without a delay, under a backoffLimit of 0', () => {
    const decisions = play(Array.from({ length: 100 }, () => ({ action: 'restart', backoffLimit: 0 }) as const));
    expect(decisions.every(({ outcome, delayMs }) => outcome === 'restart' && delayMs === 0)).toBe(true);
    expect(decisions.at(-1)?.budgets).toMatchObject({ interruptions: 100, errors: 0 });
  });

  it('fail the job at the error after the last allowed retry', () => {
    expect(play(Array.from({ length: 3 }, () => ({ backoffLimit: 2 }))).map(({ outcome }) => outcome)).toEqual([
      'restart',
      'restart',
      'fail',
    ]);
    expect(play([{ backoffLimit: 0 }])[0]).toMatchObject({ outcome: 'fail', reason: expect.stringContaining('backoffLimit of 0') });
  });

  it('double the delay for each error in a row, up to ten minutes', () => {
    const delays = play(Array.from({ length: 8 }, () => ({}))).map(({ delayMs }) => delayMs / 1000);
    expect(delays).toEqual([10, 20, 40, 80, 160, 320, 600, 600]);
  });

  it('are refilled by progress of the last good step, and by nothing else', () => {
    const [, second] = play([{ lastGoodStep: 10 }, { lastGoodStep: 10, backoffLimit: 1 }]);
    expect(second).toMatchObject({ outcome: 'fail' });
    const [, moved] = play([{ lastGoodStep: 10 }, { lastGoodStep: 11, backoffLimit: 1 }]);
    expect(moved).toMatchObject({ outcome: 'restart', delayMs: 10_000, budgets: { errors: 1, furthestStep: 11 } });
  });

  const SAME = { trace: { exitCode: 1, line: 'ValueError: #' } };

  it('end a run at the third same error, where a backoffLimit is set', () => {
    const ends = Array.from({ length: 3 }, () => ({ ...SAME, backoffLimit: 100 }));
    expect(play(ends).map(({ outcome }) => outcome)).toEqual(['restart', 'restart', 'fail']);
  });

  it('report the third same error and back off, where no backoffLimit is set', () => {
    const decisions = play(Array.from({ length: 4 }, () => SAME));
    expect(decisions.map(({ outcome, isRepeating }) => [outcome, isRepeating])).toEqual([
      ['restart', false],
      ['restart', false],
      ['restart', true],
      ['restart', true],
    ]);
  });

  it('treat errors whose last line is unknown or different as different errors', () => {
    const lines = ['a', 'b', 'a', null, null, null];
    const decisions = play(lines.map((line) => ({ trace: { exitCode: 1, line }, backoffLimit: 100 })));
    expect(decisions.every(({ outcome }) => outcome === 'restart')).toBe(true);
  });

  it('believe an unproven end three times without progress, and then count it as an error', () => {
    const decisions = play(Array.from({ length: 4 }, () => ({ action: 'doubt', backoffLimit: 0 }) as const));
    expect(decisions.map(({ outcome }) => outcome)).toEqual(['restart', 'restart', 'restart', 'fail']);
    expect(decisions.slice(0, 3).every(({ delayMs }) => delayMs === 0)).toBe(true);
  });

  it('wait for a store without spending an error', () => {
    const decisions = play(Array.from({ length: 9 }, () => ({ action: 'wait', backoffLimit: 0 }) as const));
    expect(decisions.every(({ outcome }) => outcome === 'restart')).toBe(true);
    expect(decisions.map(({ delayMs }) => delayMs)[1]).toBe(20_000);
  });

  it('never spend an interruption, and never allow more errors in a row than the limit, in any order', () => {
    const action = fc.constantFrom<AttemptEnd['action']>('restart', 'wait', 'spend');
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), fc.nat(5), (actions, backoffLimit) => {
        const decisions = play(actions.map((each) => ({ action: each, backoffLimit })));
        const failed = decisions.findIndex(({ outcome }) => outcome === 'fail');
        const errors = actions.slice(0, failed < 0 ? actions.length : failed + 1).filter((each) => each === 'spend').length;
        expect(errors).toBe(failed < 0 ? Math.min(errors, backoffLimit) : backoffLimit + 1);
      }),
    );
  });

  it('record progress without an end of an attempt', () => {
    const [{ budgets } = { budgets: FULL_BUDGETS }] = play([{ lastGoodStep: 5 }]);
    expect(noteProgress(budgets, 5)).toBe(budgets);
    expect(noteProgress(budgets, 6)).toMatchObject({ errors: 0, inARow: 0, same: null, furthestStep: 6 });
  });
});
