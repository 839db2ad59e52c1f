import { readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { killedAfterRenames } from '../../../test/crash/killed-after.ts';
import { sealFilesBeside, sealSteps, type TestRun, testRun } from '../../../test/support/sealed-run.ts';
import { describeStorage } from '../storage/storage.ts';
import { admitNextSave } from './admit-next-save.ts';
import { type DurableFs, realFs } from './durable-fs.ts';
import { prune } from './prune.ts';
import type { Retention } from './retention.ts';

const KEEP_ONE: Retention = { last: 1, every: null, withinMs: null };
const names = ({ path }: TestRun): string[] => readdirSync(path).filter((name) => name !== '.holdfast');
const trashOf = ({ path }: TestRun): string[] => readdirSync(join(path, '.holdfast/trash'));
const removedBy = async (run: TestRun, fs: DurableFs, retention = KEEP_ONE): Promise<readonly string[]> =>
  (await prune({ ...run.store, fs }, { retention })).removed.map(({ name }) => name);

/** On this volume nothing in the trash gets another name, where that matches. */
function full(pattern: RegExp = /./, code = 'ENOSPC'): DurableFs {
  return {
    ...realFs,
    rename(from, to) {
      if (from.includes('/.holdfast/trash/') && pattern.test(from)) throw Object.assign(new Error(code), { code });
      realFs.rename(from, to);
    },
  };
}

/** Step 1 lies whole in the grave of a prune that was killed; 2 and those after it are where they were. */
async function leaveBuried(run: TestRun, ...steps: readonly number[]): Promise<void> {
  await sealSteps(run.store, 'g', 1, 2, ...steps);
  await killedAfterRenames(1, realFs, (fs) => prune({ ...run.store, fs }, { retention: KEEP_ONE }));
  expect([names(run), trashOf(run).length]).toEqual([[2, ...steps].map((step) => `step-${step}`), 1]);
}

describe('what a killed prune has left on a volume that is too full to give it back', () => {
  it.each(['ENOSPC', 'EDQUOT'])('goes when a good one stands (%s)', async (code) => {
    using run = testRun();
    await leaveBuried(run);
    expect(await removedBy(run, full(/./, code))).toEqual(['step-1']);
    expect([names(run), trashOf(run)]).toEqual([['step-2'], []]);
  });

  it('goes also where only the way out of the trash is closed', async () => {
    using run = testRun();
    await leaveBuried(run);
    expect(await removedBy(run, full(/\/step-1$/))).toEqual(['step-1']);
    expect([names(run), trashOf(run)]).toEqual([['step-2'], []]);
  });

  it('stays as long as retention, or a person, wants it; others go', async () => {
    using run = testRun();
    await leaveBuried(run, 3);
    expect(await removedBy(run, full(), { ...KEEP_ONE, every: 1 })).toEqual([]);
    writeFileSync(join(run.path, '.holdfast/pins/step-1'), '');
    expect(await removedBy(run, full())).toEqual(['step-2']);
    expect(await removedBy(run, realFs)).toEqual([]);
    expect([names(run), trashOf(run)]).toEqual([['step-1', 'step-3'], []]);
  });

  it('stays where there is none that is good', async () => {
    using run = testRun();
    await leaveBuried(run);
    truncateSync(join(run.path, 'step-2/shard-0'), 0);
    expect(await removedBy(run, full())).toEqual([]);
    expect((await prune(run.store, { retention: KEEP_ONE })).lastGood.checkpoint?.name).toBe('step-1');
  });

  it('comes back, and is planned with the others, when there is room by then', async () => {
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

  it('is never half of a checkpoint: one of which some files came back is taken up again', async () => {
    using run = testRun();
    await sealFilesBeside(run.store, 1, 2);
    await killedAfterRenames(2, realFs, (fs) => prune({ ...run.store, fs }, { retention: KEEP_ONE }));
    expect(await removedBy(run, full(/\.holdfast\.json$/))).toEqual([]);
    expect(trashOf(run)).toHaveLength(1);
    expect(await removedBy(run, realFs)).toEqual(['m1.dat']);
    expect([names(run), trashOf(run)]).toEqual([['m2.dat', 'm2.dat.holdfast.json'], []]);
  });

  it('makes room for a save', async () => {
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

  it('is told by a dry run, which changes nothing', async () => {
    using run = testRun();
    await leaveBuried(run);
    const { removed } = await prune({ ...run.store, fs: full() }, { retention: KEEP_ONE, isDryRun: true });
    expect([removed.map(({ name }) => name), trashOf(run).length]).toEqual([['step-1'], 1]);
  });
});
