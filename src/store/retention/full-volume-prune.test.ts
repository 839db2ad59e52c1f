import { readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { killedAfterRenames } from '../../../test/crash/killed-after.ts';
import { sealFilesBeside, sealSteps, type TestRun, testRun } from '../../../test/support/sealed-run.ts';
import { describeStorage } from '../../volumes/storage.ts';
import { admitNextSave } from './admit-next-save.ts';
import { type DurableFs, realFs } from '../disk/durable-fs.ts';
import { prune } from './prune.ts';
import type { Retention } from './retention.ts';

const KEEP_ONE: Retention = { last: 1, every: null, withinMs: null };
const names = ({ path }: TestRun): string[] => readdirSync(path).filter((name) => name !== '.holdfast');
const trashOf = ({ path }: TestRun): string[] => readdirSync(join(path, '.holdfast/trash'));
const removedBy = async (run: TestRun, fs: DurableFs, retention = KEEP_ONE): Promise<readonly string[]> =>
  (await prune({ ...run.store, fs }, { retention })).removed.map(({ name }) => name);

/** A volume that refuses to rename matching entries of the trash. */
function full(pattern: RegExp = /./, code = 'ENOSPC'): DurableFs {
  return {
    ...realFs,
    rename(from, to) {
      if (from.includes('/.holdfast/trash/') && pattern.test(from)) throw Object.assign(new Error(code), { code });
      realFs.rename(from, to);
    },
  };
}

/**
 * Leaves step 1 whole in the trash entry of a killed prune; step 2 and later ones stay in place.
 */
async function leaveBuried(run: TestRun, ...steps: readonly number[]): Promise<void> {
  await sealSteps(run.store, 'g', 1, 2, ...steps);
  await killedAfterRenames(1, realFs, (fs) => prune({ ...run.store, fs }, { retention: KEEP_ONE }));
  expect([names(run), trashOf(run).length]).toEqual([[2, ...steps].map((step) => `step-${step}`), 1]);
}

describe('a checkpoint that a killed prune left in the trash of a full volume', () => {
  it.each(['ENOSPC', 'EDQUOT'])('is deleted when a good one exists (%s)', async (code) => {
    using run = testRun();
    await leaveBuried(run);
    expect(await removedBy(run, full(/./, code))).toEqual(['step-1']);
    expect([names(run), trashOf(run)]).toEqual([['step-2'], []]);
  });

  it('is deleted also when only renames out of the trash fail', async () => {
    using run = testRun();
    await leaveBuried(run);
    expect(await removedBy(run, full(/\/step-1$/))).toEqual(['step-1']);
    expect([names(run), trashOf(run)]).toEqual([['step-2'], []]);
  });

  it('stays as long as retention or a pin keeps it; others are deleted', async () => {
    using run = testRun();
    await leaveBuried(run, 3);
    expect(await removedBy(run, full(), { ...KEEP_ONE, every: 1 })).toEqual([]);
    writeFileSync(join(run.path, '.holdfast/pins/step-1'), '');
    expect(await removedBy(run, full())).toEqual(['step-2']);
    expect(await removedBy(run, realFs)).toEqual([]);
    expect([names(run), trashOf(run)]).toEqual([['step-1', 'step-3'], []]);
  });

  it('stays when no checkpoint is good', async () => {
    using run = testRun();
    await leaveBuried(run);
    truncateSync(join(run.path, 'step-2/shard-0'), 0);
    expect(await removedBy(run, full())).toEqual([]);
    expect((await prune(run.store, { retention: KEEP_ONE })).lastGood.checkpoint?.name).toBe('step-1');
  });

  it('is restored, and planned like the others, once there is room', async () => {
    using run = testRun();
    await leaveBuried(run, 3);
    let left = 1;
    const fs: DurableFs = {
      ...realFs,
      rename(from, to) {
        if (/trash\/.*\/step-1$/.test(from) && left-- > 0) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
        realFs.rename(from, to);
      },
    };
    expect(await removedBy(run, fs)).toEqual(['step-1', 'step-2']);
    expect([names(run), trashOf(run)]).toEqual([['step-3'], []]);
  });

  it('is never half restored: prune takes the restored files of a partial one back to the trash', async () => {
    using run = testRun();
    await sealFilesBeside(run.store, 1, 2);
    await killedAfterRenames(2, realFs, (fs) => prune({ ...run.store, fs }, { retention: KEEP_ONE }));
    expect(await removedBy(run, full(/\.holdfast\.json$/))).toEqual([]);
    expect(trashOf(run)).toHaveLength(1);
    expect(await removedBy(run, realFs)).toEqual(['m1.dat']);
    expect([names(run), trashOf(run)]).toEqual([['m2.dat', 'm2.dat.holdfast.json'], []]);
  });

  it('makes room for a save when it is deleted', async () => {
    using run = testRun();
    await leaveBuried(run);
    const storageOf = (path: string) => {
      const storage = describeStorage(path);
      return { ...storage, space: { ...storage.space, blockBytes: 1, availableBytes: trashOf(run).length > 0 ? 0 : 2 ** 30 } };
    };
    const store = { ...run.store, fs: full() };
    const { pruned } = await admitNextSave(store, { bytes: 1, files: 1, retention: KEEP_ONE, storageOf });
    expect(pruned?.removed.map(({ name }) => name)).toEqual(['step-1']);
  });

  it('is reported by a dry run, which changes nothing', async () => {
    using run = testRun();
    await leaveBuried(run);
    const { removed } = await prune({ ...run.store, fs: full() }, { retention: KEEP_ONE, isDryRun: true });
    expect([removed.map(({ name }) => name), trashOf(run).length]).toEqual([['step-1'], 1]);
  });
});
