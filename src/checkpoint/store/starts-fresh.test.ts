import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sealSteps, testRun } from '../../../test/support/sealed-run.ts';
import { lastGood, missingTarget, startsFresh } from './last-good.ts';
import { findSealed, rollBack } from './roll-back.ts';

describe('none that is good', () => {
  it('lets a run start fresh only where nothing was sealed, or when a person has said so', async () => {
    using run = testRun();
    expect(startsFresh(await lastGood(run.store))).toBe(true);
    await sealSteps(run.store, 'g', 1);
    expect(startsFresh(await lastGood(run.store))).toBe(false);
    truncateSync(join(run.path, 'step-1/shard-0'), 0);
    // Found bad; in quarantine; and beside something whose manifest says nothing any more.
    for (const _ of [1, 2]) expect(startsFresh(await lastGood(run.store))).toBe(false);
    mkdirSync(join(run.path, 'step-2'));
    writeFileSync(join(run.path, 'step-2/holdfast.manifest.json'), '{"sche');
    expect(startsFresh(await lastGood(run.store))).toBe(false);
    await rollBack(run.store, null);
    expect(startsFresh(await lastGood(run.store))).toBe(true);
  });

  it('does not let a run start fresh that was rolled back to a step which is not there', async () => {
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
