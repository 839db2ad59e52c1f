import { readdirSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { killedAfterRenames } from '../../../test/crash/killed-after.ts';
import { sealFilesBeside, sealSteps, stagedSave, type TestRun, testRun } from '../../../test/support/sealed-run.ts';
import { commitSave } from '../commit/commit.ts';
import { type DurableFs, realFs } from '../disk/durable-fs.ts';
import { emptyTrash } from '../trash/trash.ts';
import { lastGood } from '../resume/last-good.ts';
import { pin } from './pins.ts';
import { prune } from './prune.ts';
import { findSealed } from '../attempt/roll-back.ts';

const RETENTION = { last: 1, every: null, withinMs: null };
const names = ({ path }: TestRun): string[] => readdirSync(path).filter((name) => name !== '.holdfast');
const trashOf = ({ path }: TestRun): string[] => readdirSync(join(path, '.holdfast/trash'));
const pruneWith = (run: TestRun, fs: DurableFs) => prune({ ...run.store, fs }, { retention: RETENTION });

/**
 * The prune died after it moved the older checkpoint to the trash, before it checked or deleted
 * anything.
 */
async function pruneKilled(run: TestRun, fs: DurableFs = realFs): Promise<void> {
  await killedAfterRenames(1, fs, (killed) => pruneWith(run, killed));
  expect(names(run)).toEqual(['step-2']);
}

describe('a prune that was killed after it moved a checkpoint to the trash', () => {
  it('has deleted nothing: the next prune restores the whole checkpoint and decides anew', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    await pruneKilled(run);
    emptyTrash(run.store);
    expect([names(run), trashOf(run)]).toEqual([['step-1', 'step-2'], []]);
    await pruneKilled(run);
    expect((await prune(run.store, { retention: RETENTION })).removed.map(({ name }) => name)).toEqual(['step-1']);
    expect([names(run), trashOf(run)]).toEqual([['step-2'], []]);
  });

  it('loses no checkpoint that a person pinned just before the move', async () => {
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

  it('loses no checkpoint that is the last good one since the newest turned bad', async () => {
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

  it('is only reported by a read-only command', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    await pruneKilled(run);
    truncateSync(join(run.path, 'step-2/shard-0'), 0);
    expect((await lastGood(run.store, { isReadOnly: true })).checkpoint).toBeNull();
    expect([names(run), trashOf(run)]).toEqual([['step-2'], [expect.anything()]]);
  });

  it('is finished by the next prune if it had begun to delete: no half checkpoint comes back', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    await pruneKilled(run);
    rmSync(join(run.path, '.holdfast/trash', trashOf(run)[0] ?? '', 'step-1/shard-0'));
    emptyTrash(run.store);
    expect([names(run), trashOf(run)]).toEqual([['step-2'], []]);
  });

  it('leaves a checkpoint in the trash while its name is taken, until an unpinned good one exists', async () => {
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

  it('reports and remembers a disk failure during the deletion of a checkpoint whose name is taken', async () => {
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

  it('leaves an unreadable trash entry alone', async () => {
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

describe('a prune whose trash entry a process on another machine treats as abandoned', () => {
  const elsewhere = { owner: 'another-boot.1.1.1' };

  it('does not report a deletion that the other process has undone', async () => {
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

  it('restores no checkpoint of which the other process has deleted a part', async () => {
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
  it('restores the checkpoint that it moved', async () => {
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

  it('leaves the checkpoint to the next prune when its own restore fails', async () => {
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
