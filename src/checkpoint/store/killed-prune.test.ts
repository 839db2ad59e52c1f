import { readdirSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { killedAfterRenames } from '../../../test/crash/killed-after.ts';
import { sealFilesBeside, sealSteps, stagedSave, type TestRun, testRun } from '../../../test/support/sealed-run.ts';
import { commitSave } from './commit.ts';
import { type DurableFs, realFs } from './durable-fs.ts';
import { emptyTrash } from './graves.ts';
import { lastGood } from './last-good.ts';
import { pin } from './pins.ts';
import { prune } from './prune.ts';
import { findSealed } from './roll-back.ts';

const RETENTION = { last: 1, every: null, withinMs: null };
const names = ({ path }: TestRun): string[] => readdirSync(path).filter((name) => name !== '.holdfast');
const trashOf = ({ path }: TestRun): string[] => readdirSync(join(path, '.holdfast/trash'));
const pruneWith = (run: TestRun, fs: DurableFs) => prune({ ...run.store, fs }, { retention: RETENTION });

/** Nothing was looked at, or deleted, after the older one had come to the trash. */
async function pruneKilled(run: TestRun, fs: DurableFs = realFs): Promise<void> {
  await killedAfterRenames(1, fs, (killed) => pruneWith(run, killed));
  expect(names(run)).toEqual(['step-2']);
}

describe('a prune that was killed when it had moved a checkpoint to the trash', () => {
  it('has deleted nothing: what is whole comes back, and the next one decides anew', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    await pruneKilled(run);
    emptyTrash(run.store);
    expect([names(run), trashOf(run)]).toEqual([['step-1', 'step-2'], []]);
    await pruneKilled(run);
    expect((await prune(run.store, { retention: RETENTION })).removed.map(({ name }) => name)).toEqual(['step-1']);
    expect([names(run), trashOf(run)]).toEqual([['step-2'], []]);
  });

  it('takes nothing that a person pinned just before the move', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const fs = {
      ...realFs,
      rename(from: string, to: string) {
        if (from === join(run.path, 'step-1')) pin(run.store, findSealed(run.store, '1'));
        realFs.rename(from, to);
      },
    };
    await pruneKilled(run, fs);
    expect((await prune(run.store, { retention: RETENTION })).removed).toEqual([]);
    expect(names(run)).toEqual(['step-1', 'step-2']);
  });

  it('takes nothing that is the last good one since the newest has turned bad', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    await pruneKilled(run);
    truncateSync(join(run.path, 'step-2/shard-0'), 0);
    expect(await lastGood(run.store)).toMatchObject({ checkpoint: { name: 'step-1' }, skipped: [{ name: 'step-2', state: 'bad' }] });
    expect([names(run), trashOf(run)]).toEqual([['step-1'], []]);
    using other = testRun();
    await sealSteps(other.store, 'g', 1, 2);
    await pruneKilled(other);
    truncateSync(join(other.path, 'step-2/shard-0'), 0);
    expect((await prune(other.store, { retention: RETENTION })).lastGood.checkpoint?.name).toBe('step-1');
    expect(names(other)).toEqual(['step-1']);
  });

  it('is only told of by who shall only look', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    await pruneKilled(run);
    truncateSync(join(run.path, 'step-2/shard-0'), 0);
    expect((await lastGood(run.store, { isReadOnly: true })).checkpoint).toBeNull();
    expect([names(run), trashOf(run)]).toEqual([['step-2'], [expect.anything()]]);
  });

  it('is finished where it had begun to delete: no half comes back', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    await pruneKilled(run);
    rmSync(join(run.path, '.holdfast/trash', trashOf(run)[0] ?? '', 'step-1/shard-0'));
    emptyTrash(run.store);
    expect([names(run), trashOf(run)]).toEqual([['step-2'], []]);
  });

  it('leaves what cannot come back, because another has its name by now, until a good one stands that nobody has pinned', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1, 2);
    const next = await stagedSave(run.store, attempt, { step: 1 });
    await pruneKilled(run);
    commitSave(run.store, next);
    emptyTrash(run.store);
    expect(trashOf(run)).toHaveLength(1);
    pin(run.store, findSealed(run.store, '1'));
    await prune(run.store, { retention: RETENTION });
    expect(trashOf(run)).toHaveLength(1);
    rmSync(join(run.path, '.holdfast/pins/step-1'));
    await prune(run.store, { retention: RETENTION });
    expect([names(run), trashOf(run)]).toEqual([['step-2'], []]);
  });

  it('tells, and remembers, that the disk failed when what cannot come back is deleted', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1, 2);
    const next = await stagedSave(run.store, attempt, { step: 1 });
    await pruneKilled(run);
    commitSave(run.store, next);
    const fs = {
      ...realFs,
      unlink(path: string) {
        if (path.includes('/trash/')) throw Object.assign(new Error('EIO'), { code: 'EIO' });
        realFs.unlink(path);
      },
    };
    await expect(pruneWith(run, fs)).rejects.toMatchObject({ code: 'STORE_FAILED', message: expect.stringContaining('cannot delete') });
    expect(await lastGood(run.store)).toMatchObject({ level: 'deep', because: 'io-error' });
  });

  it('leaves alone what the disk would not tell of', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    await pruneKilled(run);
    const fs = {
      ...realFs,
      stat(path: string) {
        if (path.includes('/trash/') && path.endsWith('/shard-0')) throw Object.assign(new Error('EIO'), { code: 'EIO' });
        return realFs.stat(path);
      },
    };
    emptyTrash({ ...run.store, fs });
    expect(trashOf(run)).toHaveLength(1);
    emptyTrash(run.store);
    expect(names(run)).toEqual(['step-1', 'step-2']);
  });
});

describe('a prune whose grave somebody on another machine has taken for abandoned', () => {
  const elsewhere = { owner: 'another-boot.1.1.1' };

  it('does not claim to have deleted what the other has brought back', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const fs = {
      ...realFs,
      rename(from: string, to: string) {
        realFs.rename(from, to);
        if (from === join(run.path, 'step-1')) emptyTrash({ ...run.store, ...elsewhere });
      },
    };
    expect((await pruneWith(run, fs)).removed).toEqual([]);
    expect([names(run), trashOf(run)]).toEqual([['step-1', 'step-2'], []]);
  });

  it('brings nothing back of which the other has deleted something until it had the grave', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    await pruneKilled({ ...run, store: { ...run.store, ...elsewhere } });
    const fs = {
      ...realFs,
      rename(from: string, to: string) {
        if (from.includes('/trash/')) rmSync(join(from, 'step-1/shard-0'));
        realFs.rename(from, to);
      },
    };
    emptyTrash({ ...run.store, fs });
    expect(names(run)).toEqual(['step-2']);
    emptyTrash(run.store);
    expect([names(run), trashOf(run)]).toEqual([['step-2'], []]);
  });
});

describe('a prune that fails in the middle of a move', () => {
  it('brings back what it had moved', async () => {
    using run = testRun();
    await sealFilesBeside(run.store, 1, 2);
    const before = names(run);
    const fs = {
      ...realFs,
      rename(from: string, to: string) {
        if (from === join(run.path, 'm1.dat')) throw Object.assign(new Error('EIO'), { code: 'EIO' });
        realFs.rename(from, to);
      },
    };
    await expect(pruneWith(run, fs)).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect([names(run), trashOf(run)]).toEqual([before, []]);
  });

  it('has it brought back by the next who empties the trash where even that fails', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const fs = {
      ...realFs,
      stat(path: string) {
        if (path.includes('/trash/')) throw Object.assign(new Error('EIO'), { code: 'EIO' });
        return realFs.stat(path);
      },
      rename(from: string, to: string) {
        if (from.includes('/trash/')) throw Object.assign(new Error('EIO'), { code: 'EIO' });
        realFs.rename(from, to);
      },
    };
    await expect(pruneWith(run, fs)).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect(names(run)).toEqual(['step-2']);
    emptyTrash(run.store);
    expect(names(run)).toEqual(['step-1', 'step-2']);
  });
});
