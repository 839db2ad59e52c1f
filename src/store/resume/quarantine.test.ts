import { readdirSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { seal, sealSteps, testRun } from '../../../test/support/sealed-run.ts';
import { lastGood } from './last-good.ts';
import { listQuarantine, quarantine, restore } from './quarantine.ts';
import { scan } from '../folder/scan.ts';

describe('quarantine', () => {
  it('keeps several checkpoints of one name, and restores any of them', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1, 2);
    truncateSync(join(run.path, 'step-2/shard-0'), 1);
    await lastGood(run.store);
    await seal(run.store, attempt, { step: 2 });
    rmSync(join(run.path, 'step-2/shard-0'));
    await lastGood(run.store);
    expect(listQuarantine(run.store).map(({ id, code }) => [id, code])).toEqual([
      ['step-2', 'MANIFEST_SIZE'],
      ['step-2-2', 'FILE_MISSING'],
    ]);
    restore(run.store, 'step-2-2');
    expect(readdirSync(join(run.path, 'step-2'))).toEqual(['holdfast.manifest.json']);
    expect(() => restore(run.store, 'step-2')).toThrow(expect.objectContaining({ code: 'NAME_TAKEN' }));
    expect(listQuarantine(run.store).map(({ id }) => id)).toEqual(['step-2']);
  });

  it('restores nothing from outside its folder', () => {
    using run = testRun();
    for (const id of ['../pins', '..', '/etc', 'a/b', 'nothing']) {
      expect(() => restore(run.store, id)).toThrow(expect.objectContaining({ code: 'NOT_SEALED' }));
    }
  });

  it('leaves another checkpoint in place that was committed under the name meanwhile', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1, 2);
    truncateSync(join(run.path, 'step-2/shard-0'), 1);
    const [seen] = scan(run.store).sealed;
    await lastGood(run.store);
    await seal(run.store, attempt, { step: 2 });
    // A late process that read the seal before another process moved it.
    expect(seen === undefined ? null : quarantine(run.store, seen, { code: 'MANIFEST_SIZE', reason: 'late' })).toBeNull();
    expect(await lastGood(run.store)).toMatchObject({ checkpoint: { name: 'step-2' }, skipped: [] });
    expect(listQuarantine(run.store).map(({ id }) => id)).toEqual(['step-2']);
  });

  it('takes a restored checkpoint again when it is still bad', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    truncateSync(join(run.path, 'step-2/shard-0'), 1);
    await lastGood(run.store);
    restore(run.store, 'step-2');
    expect((await lastGood(run.store)).skipped).toMatchObject([{ name: 'step-2', state: 'bad' }]);
  });
});
