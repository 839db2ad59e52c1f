import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { seal, sealFilesBeside, sealSteps, stagedSave, testRun } from '../../../test/support/sealed-run.ts';
import { startAttempt } from '../attempt/attempt.ts';
import { realFs } from '../disk/durable-fs.ts';
import { lastGood } from '../resume/last-good.ts';
import { listPins, pin, unpin } from './pins.ts';
import { prune } from './prune.ts';
import { planRetention, type Retention } from './retention.ts';
import { findSealed } from '../attempt/roll-back.ts';
import { scan, type SealedCheckpoint } from '../folder/scan.ts';

const KEEP_ONE: Retention = { last: 1, every: null, withinMs: null };
const failing = (code: string) => Object.assign(new Error(code), { code });
const names = (path: string) => readdirSync(path).filter((name) => name !== '.holdfast');

describe('prune', () => {
  it('deletes the checkpoints that no rule keeps, and nothing else in the folder', async () => {
    using run = testRun();
    using other = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    await sealSteps(other.store, 'g', 0);
    realFs.rename(join(other.path, 'step-0'), join(run.path, 'step-0'));
    mkdirSync(join(run.path, 'step-00'));
    writeFileSync(join(run.path, 'notes.txt'), '');
    const { removed } = await prune(run.store, { retention: KEEP_ONE });
    expect(removed.map(({ name }) => name)).toEqual(['step-1', 'step-2']);
    expect(names(run.path)).toEqual(['notes.txt', 'step-0', 'step-00', 'step-3']);
    expect(readdirSync(join(run.path, '.holdfast/trash'))).toEqual([]);
  });

  it('changes nothing in a dry run', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const { removed } = await prune(run.store, { retention: KEEP_ONE, isDryRun: true });
    expect(removed.map(({ name }) => name)).toEqual(['step-1']);
    expect(names(run.path)).toEqual(['step-1', 'step-2']);
  });

  it('keeps the next older one when the newest is bad', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    truncateSync(join(run.path, 'step-3/shard-0'), 0);
    expect((await prune(run.store, { retention: KEEP_ONE })).removed.map(({ name }) => name)).toEqual(['step-1']);
    expect(names(run.path)).toEqual(['step-2']);
  });

  it('deletes nothing when no checkpoint is good', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1);
    truncateSync(join(run.path, 'step-1/shard-0'), 0);
    expect(await prune(run.store, { retention: KEEP_ONE })).toMatchObject({ removed: [], lastGood: { checkpoint: null } });
  });

  it('makes a new plan when the newest turns bad during the deletions', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3, 4);
    let removed = 0;
    const fs = {
      ...realFs,
      rename(from: string, to: string) {
        realFs.rename(from, to);
        // After the first deletion the newest checkpoint loses its bytes.
        if (to.includes('/trash/') && removed++ === 0) truncateSync(join(run.path, 'step-4/shard-0'), 0);
      },
    };
    await prune({ ...run.store, fs }, { retention: KEEP_ONE });
    expect(names(run.path)).toEqual(['step-3']);
    expect((await lastGood(run.store)).checkpoint?.name).toBe('step-3');
  });

  it('orders by attempt before step: an older attempt with higher steps goes first', async () => {
    using run = testRun();
    await sealSteps(run.store, 'old', 900, 1000);
    await sealSteps(run.store, 'new', 10, 20);
    await prune(run.store, { retention: { ...KEEP_ONE, last: 2 } });
    expect(names(run.path)).toEqual(['step-10', 'step-20']);
  });

  it('finishes the deletions of an interrupted prune, and removes the staging of fenced attempts', async () => {
    using run = testRun();
    await stagedSave(run.store, await startAttempt(run.store, { gang: 'old' }), { step: 1 });
    await sealSteps(run.store, 'new', 2);
    mkdirSync(join(run.path, '.holdfast/trash/left'));
    writeFileSync(join(run.path, '.holdfast/trash/left/shard'), 'x');
    await prune(run.store, { retention: KEEP_ONE });
    expect(readdirSync(join(run.path, '.holdfast/trash'))).toEqual([]);
    expect(readdirSync(join(run.path, '.holdfast/fenced'))).toEqual([]);
    expect(names(run.path)).toEqual(['step-2']);
  });

  it('keeps the staging of the second newest attempt until the newest has sealed a checkpoint or needs room', async () => {
    using run = testRun();
    const left = () => readdirSync(join(run.path, '.holdfast/fenced'));
    for (const gang of ['a', 'b']) await stagedSave(run.store, await startAttempt(run.store, { gang }), { step: 1 });
    const newest = await startAttempt(run.store, { gang: 'c' });
    await prune(run.store, { retention: KEEP_ONE });
    expect(left()).toEqual(['2']);
    await prune(run.store, { retention: KEEP_ONE, isDryRun: true, isRoomNeeded: true });
    expect(left()).toEqual(['2']);
    await seal(run.store, newest, { step: 1 });
    await prune(run.store, { retention: KEEP_ONE });
    expect(left()).toEqual([]);
    await stagedSave(run.store, newest, { step: 2 });
    await startAttempt(run.store, { gang: 'd' });
    expect(left()).toEqual(['3']);
    await prune(run.store, { retention: KEEP_ONE, isRoomNeeded: true });
    expect(left()).toEqual([]);
  });

  it('keeps pinned checkpoints until they are unpinned', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    pin(run.store, findSealed(run.store, 'step-1'));
    expect([...listPins(run.store)]).toEqual(['step-1']);
    await prune(run.store, { retention: KEEP_ONE });
    expect(names(run.path)).toEqual(['step-1', 'step-2']);
    expect(unpin(run.store, 'step-1')).toBe(true);
    expect(unpin(run.store, 'step-1')).toBe(false);
    await prune(run.store, { retention: KEEP_ONE });
    expect(names(run.path)).toEqual(['step-2']);
  });
});

describe('prune beside other processes', () => {
  /** A file system that calls `happens` just before the first deletion. */
  function justBefore(happens: () => void): typeof realFs {
    let isDone = false;
    return {
      ...realFs,
      fsyncFolder(path) {
        realFs.fsyncFolder(path);
        if (!isDone) happens();
        isDone = true;
      },
    };
  }

  it('keeps a checkpoint that a person pins or rolls back to meanwhile', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    const pinning = justBefore(() => pin(run.store, findSealed(run.store, '1')));
    expect((await prune({ ...run.store, fs: pinning }, { retention: KEEP_ONE })).removed.map(({ name }) => name)).toEqual(['step-2']);
    expect(names(run.path)).toEqual(['step-1', 'step-3']);
    const decision = { schema: 'holdfast.rollback/1', to: { name: 'step-1', attempt: 1, step: 1 }, throughAttempt: 1 };
    unpin(run.store, 'step-1');
    const rolling = justBefore(() => writeFileSync(join(run.path, '.holdfast/rollback.json'), JSON.stringify(decision)));
    expect((await prune({ ...run.store, fs: rolling }, { retention: KEEP_ONE })).removed).toEqual([]);
    expect((await lastGood(run.store)).checkpoint?.name).toBe('step-1');
  });

  it('restores the moved checkpoint and makes a new plan when the kept one turns bad after the move', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const deleted: string[] = [];
    const fs = {
      ...realFs,
      rename(from: string, to: string) {
        if (from === join(run.path, 'step-1')) rmSync(join(run.path, 'step-2/shard-0'), { force: true });
        realFs.rename(from, to);
      },
      unlink(path: string) {
        if (path.includes('/trash/')) deleted.push(path);
        realFs.unlink(path);
      },
    };
    const { lastGood: good, removed } = await prune({ ...run.store, fs }, { retention: KEEP_ONE });
    expect([good.checkpoint?.name, removed, deleted]).toEqual(['step-1', [], []]);
    expect(names(run.path)).toEqual(['step-1']);
    expect(readdirSync(join(run.path, '.holdfast/trash'))).toEqual([]);
  });

  it('restores the moved checkpoint and fails when it cannot read the pins', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    let isMoved = false;
    const fs = {
      ...realFs,
      rename(from: string, to: string) {
        realFs.rename(from, to);
        if (from === join(run.path, 'step-1')) isMoved = true;
      },
      readFile(path: string) {
        if (isMoved && path.endsWith('/rollback.json')) throw failing('EIO');
        return realFs.readFile(path);
      },
    };
    await expect(prune({ ...run.store, fs }, { retention: KEEP_ONE })).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect(isMoved).toBe(true);
    expect(names(run.path)).toEqual(['step-1', 'step-2']);
    expect(readdirSync(join(run.path, '.holdfast/trash'))).toEqual([]);
  });

  it('never deletes a wanted checkpoint that it could not restore', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const fs = {
      ...realFs,
      rename(from: string, to: string) {
        if (from === join(run.path, 'step-1')) rmSync(join(run.path, 'step-2/shard-0'), { force: true });
        if (to === join(run.path, 'step-1')) throw failing('EIO');
        realFs.rename(from, to);
      },
    };
    await expect(prune({ ...run.store, fs }, { retention: KEEP_ONE })).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect(names(run.path)).toEqual(['step-2']);
    expect((await prune(run.store, { retention: KEEP_ONE })).lastGood.checkpoint?.name).toBe('step-1');
    expect(names(run.path)).toEqual(['step-1']);
    expect(readdirSync(join(run.path, '.holdfast/trash'))).toEqual([]);
  });

  it('restores nothing over a newer file of the same name', async () => {
    using run = testRun();
    await sealFilesBeside(run.store, 1, 2);
    const fs = {
      ...realFs,
      rename(from: string, to: string) {
        realFs.rename(from, to);
        if (from !== join(run.path, 'm1.dat')) return;
        writeFileSync(from, 'new');
        rmSync(join(run.path, 'm2.dat'));
      },
    };
    const isLeft = async (store = run.store) => {
      await prune(store, { retention: KEEP_ONE }).catch(() => {});
      const [entry = ''] = readdirSync(join(run.path, '.holdfast/trash'));
      expect(readFileSync(join(run.path, 'm1.dat'), 'utf8')).toBe('new');
      expect(readFileSync(join(run.path, '.holdfast/trash', entry, 'm1.dat'), 'utf8')).toBe('the bytes of step 1');
    };
    await isLeft({ ...run.store, fs });
    await isLeft();
    rmSync(join(run.path, 'm1.dat'));
    expect((await prune(run.store, { retention: KEEP_ONE })).lastGood.checkpoint?.manifest.step).toBe(1);
  });

  it('succeeds without reporting a deletion when another process removes every empty trash entry', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const fs = {
      ...realFs,
      mkdir(path: string) {
        realFs.mkdir(path);
        if (path.includes('/trash/')) rmSync(path, { recursive: true });
      },
    };
    expect((await prune({ ...run.store, fs }, { retention: KEEP_ONE })).removed).toEqual([]);
    expect(names(run.path)).toEqual(['step-1', 'step-2']);
  });

  it('deletes and reports the deletion when another process removed the first trash entry', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    let taken = 0;
    const fs = {
      ...realFs,
      mkdir(path: string) {
        realFs.mkdir(path);
        if (path.includes('/trash/') && taken++ === 0) rmSync(path, { recursive: true });
      },
    };
    expect((await prune({ ...run.store, fs }, { retention: KEEP_ONE })).removed.map(({ name }) => name)).toEqual(['step-1']);
    expect(names(run.path)).toEqual(['step-2']);
  });

  it('keeps files that a process began to write under the name of a vanished checkpoint, at any moment', async () => {
    for (const moment of ['before it looks', 'before it moves'] as const) {
      using run = testRun();
      await sealSteps(run.store, 'g', 1, 2);
      const begun = (): void => {
        mkdirSync(join(run.path, 'begun'));
        writeFileSync(join(run.path, 'begun/shard-0'), 'half');
        rmSync(join(run.path, 'step-1'), { recursive: true });
        renameSync(join(run.path, 'begun'), join(run.path, 'step-1'));
      };
      const early = moment === 'before it looks' ? justBefore(begun) : realFs;
      const fs = {
        ...early,
        rename(from: string, to: string) {
          if (moment === 'before it moves' && to.includes('/trash/')) begun();
          realFs.rename(from, to);
        },
      };
      expect((await prune({ ...run.store, fs }, { retention: KEEP_ONE })).removed).toEqual([]);
      expect(readdirSync(join(run.path, 'step-1'))).toEqual(['shard-0']);
      expect(readdirSync(join(run.path, '.holdfast/trash'))).toEqual([]);
    }
  });

  it('leaves the files alone when another process moved their seal', async () => {
    using run = testRun();
    await sealFilesBeside(run.store, 1, 2);
    const fs = {
      ...realFs,
      rename(from: string, to: string) {
        if (to.includes('/trash/') && from.endsWith('m1.dat.holdfast.json')) rmSync(from, { force: true });
        realFs.rename(from, to);
      },
    };
    expect((await prune({ ...run.store, fs }, { retention: KEEP_ONE })).removed).toEqual([]);
    expect(names(run.path)).toEqual(['m1.dat', 'm2.dat', 'm2.dat.holdfast.json']);
  });

  it('also reports the files that it moved to the trash if another process deletes them', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    const fs = {
      ...realFs,
      rename(from: string, to: string) {
        realFs.rename(from, to);
        if (to.includes('/trash/')) rmSync(join(to, '..'), { recursive: true });
      },
    };
    expect((await prune({ ...run.store, fs }, { retention: KEEP_ONE })).removed.map(({ name }) => name)).toEqual(['step-1', 'step-2']);
    expect(names(run.path)).toEqual(['step-3']);
  });

  it('keeps the verified one when a folder and a single-file checkpoint share a name', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1);
    const [dir] = scan(run.store).sealed;
    const beside = { ...dir, kind: 'files' } as SealedCheckpoint;
    const facts = { sealed: [dir as SealedCheckpoint, beside], rolledBack: [], rollback: null, lastGood: beside, pins: new Set<string>() };
    expect(planRetention({ ...facts, nowMs: 0 }, KEEP_ONE).remove).toEqual([]);
  });

  it('honours a pin for any name of a checkpoint', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    renameSync(join(run.path, 'step-1'), join(run.path, 'before.tmp'));
    pin(run.store, findSealed(run.store, 'before.tmp'));
    await prune(run.store, { retention: KEEP_ONE });
    expect(names(run.path)).toEqual(['before.tmp', 'step-2']);
  });
});
