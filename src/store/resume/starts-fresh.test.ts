import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sealSteps, testRun } from '../../../test/support/sealed-run.ts';
import { lastGood, missingTarget, startsFresh } from './last-good.ts';
import { findSealed, rollBack } from '../attempt/roll-back.ts';

describe('without a good checkpoint, Holdfast', () => {
  it('lets a run start fresh only if it has no sealed checkpoint or a person chose it', async () => {
    using run = testRun();
    expect(startsFresh(await lastGood(run.store))).toBe(true);
    await sealSteps(run.store, 'g', 1);
    expect(startsFresh(await lastGood(run.store))).toBe(false);
    truncateSync(join(run.path, 'step-1/shard-0'), 0);
    // One found bad, one in quarantine, and one whose manifest is unreadable.
    for (const _ of [1, 2]) expect(startsFresh(await lastGood(run.store))).toBe(false);
    mkdirSync(join(run.path, 'step-2'));
    writeFileSync(join(run.path, 'step-2/holdfast.manifest.json'), '{"sche');
    expect(startsFresh(await lastGood(run.store))).toBe(false);
    await rollBack(run.store, null);
    expect(startsFresh(await lastGood(run.store))).toBe(true);
  });

  it('does not let a run start fresh after a rollback to a missing step', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 4, 6);
    await rollBack(run.store, findSealed(run.store, '4'));
    rmSync(join(run.path, 'step-4'), { recursive: true });
    const found = await lastGood(run.store);
    expect([startsFresh(found), missingTarget(found)]).toEqual([false, { name: 'step-4', attempt: 1, step: 4 }]);
    const decidedAnew = await rollBack(run.store, null).then(() => lastGood(run.store));
    expect([startsFresh(decidedAnew), missingTarget(decidedAnew)]).toEqual([true, null]);
  });
});
