import { existsSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sealSteps, stagedSave, testRun } from '../../../test/support/sealed-run.ts';
import { VirtualClock } from '../../core/clock.ts';
import { type Attempt, startAttempt } from './attempt.ts';
import { realFs } from '../disk/durable-fs.ts';
import { lastGood } from '../resume/last-good.ts';
import { pin } from '../retention/pins.ts';
import { prune } from '../retention/prune.ts';
import type { Retention } from '../retention/retention.ts';
import { findSealed, rollBack, undoRollback } from './roll-back.ts';
import { formatRollback, readRollback } from '../folder/rollback.ts';
import { beginSave } from '../commit/save.ts';
import { scan } from '../folder/scan.ts';

const KEEP_ONE: Retention = { last: 1, every: null, withinMs: null };
const names = (path: string) => readdirSync(path).filter((name) => name !== '.holdfast');

describe('rolling back', () => {
  it('makes an older checkpoint the last good one, and deletes nothing', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    await rollBack(run.store, findSealed(run.store, '2'));
    expect((await lastGood(run.store)).checkpoint?.name).toBe('step-2');
    expect(names(run.path)).toEqual(['step-1', 'step-2', 'step-3']);
    expect(scan(run.store).rolledBack.map(({ name }) => name)).toEqual(['step-3']);
  });

  it('stops a running trainer from committing', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1, 2);
    await rollBack(run.store, findSealed(run.store, '1'));
    await expect(stagedSave(run.store, attempt, { step: 3 })).rejects.toMatchObject({ code: 'ATTEMPT_FENCED' });
  });

  it('counts the saves of the next attempt, also under a rolled back step', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    await rollBack(run.store, findSealed(run.store, '1'));
    await sealSteps(run.store, 'h', 2);
    expect((await lastGood(run.store)).checkpoint).toMatchObject({ name: 'step-2-a3', manifest: { attempt: 3, step: 2 } });
  });

  it('to nothing starts fresh; after an undo, everything counts again', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    await rollBack(run.store, null);
    expect(await lastGood(run.store)).toMatchObject({ checkpoint: null, skipped: [] });
    expect(existsSync(join(run.path, 'step-2'))).toBe(true);
    expect(undoRollback(run.store)).toBe(true);
    expect(undoRollback(run.store)).toBe(false);
    expect((await lastGood(run.store)).checkpoint?.name).toBe('step-2');
  });

  it('also binds an attempt that starts before the decision is written', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    let restarted: Promise<Attempt> | null = null;
    const fs = {
      ...realFs,
      rename(from: string, to: string) {
        if (to.endsWith('/rollback.json')) restarted ??= startAttempt(run.store, { gang: 'restarted', maxWaitMs: 0 });
        realFs.rename(from, to);
      },
    };
    await rollBack({ ...run.store, fs }, findSealed(run.store, '1'));
    const late = await (restarted as unknown as Promise<Attempt>);
    expect(() => beginSave(run.store, late, { step: 3, worldSize: 1 })).toThrow(expect.objectContaining({ code: 'ATTEMPT_FENCED' }));
    expect((await lastGood(run.store)).checkpoint?.name).toBe('step-1');
  });

  it('keeps rolled back checkpoints until a newer save replaces them', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    await rollBack(run.store, findSealed(run.store, '2'));
    const before = await prune(run.store, { retention: KEEP_ONE });
    expect(names(run.path)).toEqual(['step-2', 'step-3']);
    expect(before.keep.map(({ checkpoint, because }) => [checkpoint.name, because])).toEqual([
      ['step-2', ['last-good', 'last']],
      ['step-3', ['rolled-back']],
    ]);
    await sealSteps(run.store, 'h', 3);
    await prune(run.store, { retention: { ...KEEP_ONE, last: 2 } });
    expect(names(run.path)).toEqual(['step-2', 'step-3-a3']);
  });

  it('keeps rolled back checkpoints that are pinned or that a rule keeps', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3, 4);
    pin(run.store, findSealed(run.store, '3'));
    await rollBack(run.store, null);
    await sealSteps(run.store, 'h', 1);
    await prune(run.store, { retention: { ...KEEP_ONE, every: 4 } });
    expect(names(run.path)).toEqual(['step-1-a3', 'step-3', 'step-4']);
  });

  it('keeps rolled back checkpoints while their replacement is bad', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    await rollBack(run.store, findSealed(run.store, '1'));
    await sealSteps(run.store, 'h', 2);
    truncateSync(join(run.path, 'step-2-a3/shard-0'), 0);
    await prune(run.store, { retention: KEEP_ONE });
    expect(names(run.path)).toEqual(['step-1', 'step-2', 'step-3']);
  });

  it('to a bad or missing checkpoint is refused and changes nothing', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    truncateSync(join(run.path, 'step-1/shard-0'), 0);
    await expect(rollBack(run.store, findSealed(run.store, '1'))).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_GOOD' });
    expect(() => findSealed(run.store, '7')).toThrow(expect.objectContaining({ code: 'NOT_SEALED' }));
    expect((await lastGood(run.store)).checkpoint?.name).toBe('step-2');
  });

  it('to a checkpoint that vanishes at the same moment is refused, and the earlier decision holds', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    const to = findSealed(run.store, '1');
    const aside = join(run.path, '.gone');
    const fs = {
      ...realFs,
      rename(from: string, name: string) {
        if (name.endsWith('/rollback.json') && existsSync(to.path)) realFs.rename(to.path, aside);
        realFs.rename(from, name);
      },
    };
    await expect(rollBack({ ...run.store, fs }, to)).rejects.toMatchObject({ code: 'NOT_SEALED' });
    expect(readRollback(run.store)).toBe(null);
    realFs.rename(aside, to.path);
    const decided = await rollBack(run.store, findSealed(run.store, '2'));
    await expect(rollBack({ ...run.store, fs }, to)).rejects.toMatchObject({ code: 'NOT_SEALED' });
    expect(readRollback(run.store)).toEqual(decided);
  });

  it('keeps its target, and pinned checkpoints, even if a prune has just decided to delete them', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    const rollback = formatRollback({ to: { name: 'step-2', attempt: 1, step: 2 }, throughAttempt: 1 });
    const fs = {
      ...realFs,
      rename(from: string, to: string) {
        if (from === join(run.path, 'step-1')) pin(run.store, findSealed(run.store, '1'));
        if (from === join(run.path, 'step-2')) writeFileSync(join(run.path, '.holdfast/rollback.json'), rollback);
        realFs.rename(from, to);
      },
    };
    expect((await prune({ ...run.store, fs }, { retention: KEEP_ONE })).removed).toEqual([]);
    expect(names(run.path)).toEqual(['step-1', 'step-2', 'step-3']);
    expect(readdirSync(join(run.path, '.holdfast/trash'))).toEqual([]);
  });

  it('is never lost without an error', async () => {
    using run = testRun({ clock: new VirtualClock() });
    await sealSteps(run.store, 'g', 1, 2);
    await rollBack(run.store, findSealed(run.store, '1'));
    writeFileSync(join(run.path, '.holdfast/rollback.json'), '{');
    await expect(lastGood(run.store)).rejects.toMatchObject({ code: 'RUN_DAMAGED' });
  });
});
