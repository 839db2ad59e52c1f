import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attemptInHistory } from './place-in-history.ts';
import { isRolledBack, type Rollback } from '../folder/rollback.ts';

const known = fc.record({ attempt: fc.nat(5), step: fc.nat(20) });

/**
 * A run with some checkpoints, perhaps rolled back to one of them or to nothing, and one more to
 * seal.
 */
const history = fc
  .record({
    all: fc.array(known, { maxLength: 6 }),
    step: fc.nat(20),
    to: fc.option(fc.nat(5)),
    isRolledBack: fc.boolean(),
    isOld: fc.boolean(),
  })
  .map(({ all, step, to, isRolledBack: isDecided, isOld }) => {
    const throughAttempt = Math.max(0, ...all.map(({ attempt }) => attempt));
    const target = to === null ? undefined : all[to % Math.max(1, all.length)];
    const rollback: Rollback | null = isDecided ? { to: target === undefined ? null : { name: 'x', ...target }, throughAttempt } : null;
    const isOut = (one: { attempt: number; step: number }) => isRolledBack({ manifest: one }, rollback);
    return {
      step,
      newestAttempt: throughAttempt + 1,
      counting: all.filter((one) => !isOut(one)),
      rolledBack: all.filter(isOut),
      rollback,
      isBeforeRollback: isDecided && isOld,
    };
  });

const newest = (all: readonly { attempt: number; step: number }[]) => all.toSorted((a, b) => b.attempt - a.attempt || b.step - a.step)[0];

describe('the attempt of a checkpoint that is sealed late', () => {
  it('never orders it before the newest one that counts, when that has a higher step', () => {
    fc.assert(
      fc.property(history, (facts) => {
        const placed = { attempt: attemptInHistory(facts), step: facts.step };
        const best = newest(facts.counting);
        if (best === undefined || best.step <= facts.step) return;
        expect(newest([best, placed])).toBe(best);
      }),
    );
  });

  it('is the newest attempt when its step is higher and no rollback came after its last write', () => {
    fc.assert(
      fc.property(history, (facts) => {
        const placed = { attempt: attemptInHistory(facts), step: facts.step };
        const best = newest(facts.counting);
        if (facts.isBeforeRollback || (best !== undefined && best.step >= facts.step)) return;
        expect(placed.attempt).toBe(facts.newestAttempt);
      }),
    );
  });

  it('orders it among the rolled back ones when it was written before the rollback and has a higher step', () => {
    fc.assert(
      fc.property(history, (facts) => {
        const { rollback, step, isBeforeRollback } = facts;
        const placed = { attempt: attemptInHistory(facts), step };
        if (rollback === null || !isBeforeRollback || (rollback.to !== null && step <= rollback.to.step)) return;
        expect(isRolledBack({ manifest: placed }, rollback)).toBe(true);
      }),
    );
  });
});
