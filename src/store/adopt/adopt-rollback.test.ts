import { describe, expect, it } from 'vitest';
import { sealSteps, stagedSave, testRun } from '../../../test/support/sealed-run.ts';
import { adoptRollback } from './adopt-rollback.ts';
import { attemptNumbers, createAttempt, isFenced, startAttempt } from '../attempt/attempt.ts';
import { commitSave } from '../commit/commit.ts';
import { readRollback } from '../folder/rollback.ts';

const FENCED = expect.objectContaining({ code: 'ATTEMPT_FENCED' });

describe('a rollback that was decided elsewhere', () => {
  it('fences a local trainer in an attempt that it covers', async () => {
    using run = testRun();
    const save = await stagedSave(run.store, await sealSteps(run.store, 'g', 1), { step: 2 });
    await adoptRollback(run.store, { to: null, throughAttempt: 1 });
    expect(() => commitSave(run.store, save)).toThrow(FENCED);
    expect(attemptNumbers(run.store)).toEqual([1, 2]);
  });

  it('also fences it if a newer attempt has not done so yet, and leaves the newer one alone', async () => {
    using run = testRun();
    const save = await stagedSave(run.store, await sealSteps(run.store, 'g', 1), { step: 2 });
    createAttempt(run.store, { attempt: 2, gang: 'killed before it fenced' });
    const decision = { to: null, throughAttempt: 1 };
    await adoptRollback(run.store, decision);
    expect(() => commitSave(run.store, save)).toThrow(FENCED);
    expect([attemptNumbers(run.store), isFenced(run.store, 2), readRollback(run.store)]).toEqual([[1, 2], false, decision]);
  });

  it('leaves newer attempts alone', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1);
    const save = await stagedSave(run.store, await startAttempt(run.store, { gang: 'h' }), { step: 2 });
    await adoptRollback(run.store, { to: null, throughAttempt: 1 });
    expect(commitSave(run.store, save)).toMatchObject({ name: 'step-2', manifest: { attempt: 2 } });
  });
});
