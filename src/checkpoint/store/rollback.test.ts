import { describe, expect, it } from 'vitest';
import { isRolledBack, type Rollback } from './rollback.ts';

const rollback: Rollback = { to: { name: 'step-200', attempt: 1, step: 200 }, throughAttempt: 3 };
const isOut = (attempt: number, step: number): boolean => isRolledBack({ manifest: { attempt, step } }, rollback);

describe('a rollback', () => {
  it('leaves what it goes back to, and what is older', () => {
    expect([isOut(1, 200), isOut(1, 100), isOut(0, 900)]).toEqual([false, false, false]);
  });

  it('takes out what is newer, also where it has the same step and so perhaps the same name: decisions travel between folders', () => {
    expect([isOut(1, 300), isOut(2, 200), isOut(3, 1)]).toEqual([true, true, true]);
  });

  it('says nothing about attempts after it', () => {
    expect(isOut(4, 900)).toBe(false);
  });
});
