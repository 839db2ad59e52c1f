import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sealSteps, stagedSave, testRun } from '../../../test/support/sealed-run.ts';
import { commitSave } from '../commit/commit.ts';
import { lastGood } from './last-good.ts';
import type { Save } from '../commit/save.ts';

describe('the last good checkpoint, while other processes save and prune,', () => {
  it('is the newer one when a save and a prune run between the scan and the check', async () => {
    for (const isReadOnly of [false, true]) {
      using run = testRun();
      const attempt = await sealSteps(run.store, 'g', 1);
      const next = await stagedSave(run.store, attempt, { step: 2 });
      let checks = 0;
      const onCheck = (): void => {
        checks += 1;
        if (checks > 1) return;
        commitSave(run.store, next);
        rmSync(join(run.path, 'step-1'), { recursive: true });
      };
      const found = await lastGood(run.store, { isReadOnly, onCheck });
      expect([found.checkpoint?.name, found.skipped, found.scan.sealed.map(({ name }) => name)]).toEqual(['step-2', [], ['step-2']]);
    }
  });

  it('is searched for a bounded number of times when every candidate vanishes, and the report lists the quarantined ones', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1, 2);
    rmSync(join(run.path, 'step-2/shard-0'));
    const coming: Save[] = [];
    for (let step = 3; step < 30; step++) coming.push(await stagedSave(run.store, attempt, { step }));
    const taken: string[] = [];
    const onCheck = (name: string): void => {
      if (name === 'step-2') return;
      taken.push(name);
      const next = coming.shift();
      if (next !== undefined) commitSave(run.store, next);
      rmSync(join(run.path, name), { recursive: true });
    };
    const { checkpoint, skipped } = await lastGood(run.store, { onCheck });
    expect([checkpoint, taken.length]).toEqual([null, 10]);
    expect(skipped).toMatchObject([{ name: 'step-2', state: 'bad' }, { name: taken.at(-1) }]);
  });
});
