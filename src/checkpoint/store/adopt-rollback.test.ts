import { describe, expect, it } from 'vitest';
import { sealSteps, stagedSave, testRun } from '../../../test/support/sealed-run.ts';
import { adoptRollback } from './adopt-rollback.ts';
import { attemptNumbers, createAttempt, isFenced, startAttempt } from './attempt.ts';
import { commitSave } from './commit.ts';
import { readRollback } from './rollback.ts';

const FENCED = expect.objectContaining({ code: 'ATTEMPT_FENCED' });

describe('a decision to roll back that was taken elsewhere', () => {
  it('fences whoever trains here in an attempt that it is about', async () => {
    using run = testRun();
    const save = await stagedSave(run.store, await sealSteps(run.store, 'g', 1), { step: 2 });
    await adoptRollback(run.store, { to: null, throughAttempt: 1 });
    expect(() => commitSave(run.store, save)).toThrow(FENCED);
    expect(attemptNumbers(run.store)).toEqual([1, 2]);
  });

  it('fences it also where whoever made a newer attempt has not done so, and leaves that one alone', async () => {
    using run = testRun();
    const save = await stagedSave(run.store, await sealSteps(run.store, 'g', 1), { step: 2 });
    createAttempt(run.store, { attempt: 2, gang: 'killed before it fenced' });
    const decision = { to: null, throughAttempt: 1 };
    await adoptRollback(run.store, decision);
    expect(() => commitSave(run.store, save)).toThrow(FENCED);
    expect([attemptNumbers(run.store), isFenced(run.store, 2), readRollback(run.store)]).toEqual([[1, 2], false, decision]);
  });

  it('leaves alone who is above it', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1);
    const save = await stagedSave(run.store, await startAttempt(run.store, { gang: 'h' }), { step: 2 });
    await adoptRollback(run.store, { to: null, throughAttempt: 1 });
    expect(commitSave(run.store, save)).toMatchObject({ name: 'step-2', manifest: { attempt: 2 } });
  });
});
