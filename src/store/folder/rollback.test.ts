import { describe, expect, it } from 'vitest';
import { isRolledBack, type Rollback } from './rollback.ts';

const rollback: Rollback = { to: { name: 'step-200', attempt: 1, step: 200 }, throughAttempt: 3 };
const isOut = (attempt: number, step: number): boolean => isRolledBack({ manifest: { attempt, step } }, rollback);

describe('a rollback', () => {
  it('keeps its target and everything older', () => {
    expect([isOut(1, 200), isOut(1, 100), isOut(0, 900)]).toEqual([false, false, false]);
  });

  it('excludes everything newer than its target, also a checkpoint of the same step', () => {
    expect([isOut(1, 300), isOut(2, 200), isOut(3, 1)]).toEqual([true, true, true]);
  });

  it('has no effect on later attempts', () => {
    expect(isOut(4, 900)).toBe(false);
  });
});
