import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sealSteps, stagedSave, testRun } from '../../../test/support/sealed-run.ts';
import { VirtualClock } from '../../core/clock.ts';
import { type Attempt, startAttempt } from './attempt.ts';
import { realFs } from './durable-fs.ts';
import { lastGood } from './last-good.ts';
import { listPins, pin, unpin } from './pins.ts';
import { prune } from './prune.ts';
import { planRetention, type Retention } from './retention.ts';
import { findSealed, rollBack, undoRollback } from './roll-back.ts';
import { beginSave } from './save.ts';
import { scan, type SealedCheckpoint } from './scan.ts';

const KEEP_ONE: Retention = { last: 1, every: null, withinMs: null };
const names = (path: string) => readdirSync(path).filter((name) => name !== '.holdfast');

describe('retention', () => {
  const HOUR = 3_600_000;
  const sealed = [70, 60, 50, 40, 30, 20, 10].map(
    (step) =>
      ({
        name: `step-${step}`,
        manifest: { step, attempt: 1, sealedAt: new Date(step * HOUR).toISOString() },
      }) as unknown as SealedCheckpoint,
  );
  const at = (name: string) => sealed.find((one) => one.name === name) ?? null;
  const NOW = 75 * HOUR;
  const NOT_ROLLED_BACK = { rolledBack: [], rollback: null };

  it.each<[string, Retention, string | null, string[], number[]]>([
    ['the newest three', { ...KEEP_ONE, last: 3 }, 'step-70', [], [10, 20, 30, 40]],
    ['the newest one', KEEP_ONE, 'step-70', [], [10, 20, 30, 40, 50, 60]],
    ['every thirtieth step', { ...KEEP_ONE, every: 30 }, 'step-70', [], [10, 20, 40, 50]],
    ['a day', { ...KEEP_ONE, withinMs: 24 * HOUR }, 'step-70', [], [10, 20, 30, 40, 50]],
    ['pinned ones', KEEP_ONE, 'step-70', ['step-20'], [10, 30, 40, 50, 60]],
    ['the newest two from the last good, and all newer ones', { ...KEEP_ONE, last: 2 }, 'step-50', [], [10, 20, 30]],
    ['everything without a good one', KEEP_ONE, null, [], []],
  ])('keeps %s', (_, retention, good, pins, gone) => {
    const facts = { sealed, ...NOT_ROLLED_BACK, lastGood: good === null ? null : at(good), pins: new Set(pins), nowMs: NOW };
    expect(planRetention(facts, retention).remove.map(({ manifest }) => manifest.step)).toEqual(gone);
  });

  it('keeps everything young after the clock jumped back', () => {
    const facts = { sealed, ...NOT_ROLLED_BACK, lastGood: at('step-70'), pins: new Set<string>(), nowMs: 0 };
    expect(planRetention(facts, { ...KEEP_ONE, withinMs: 1 }).remove).toEqual([]);
  });

  it('never lets go of the last good one, nor of anything newer, whatever the rules', () => {
    const rules = fc.record({
      last: fc.integer({ min: 1, max: 9 }),
      every: fc.option(fc.integer({ min: 1, max: 100 })),
      withinMs: fc.option(fc.nat()),
    });
    fc.assert(
      fc.property(rules, fc.integer({ min: 0, max: 6 }), fc.integer({ min: -1e12, max: 1e12 }), (retention, index, nowMs) => {
        const good = sealed[index] as SealedCheckpoint;
        const { keep, remove } = planRetention({ sealed, ...NOT_ROLLED_BACK, lastGood: good, pins: new Set(), nowMs }, retention);
        expect(keep.length + remove.length).toBe(sealed.length);
        expect(keep.slice(0, index + 1).map(({ checkpoint }) => checkpoint)).toEqual(sealed.slice(0, index + 1));
      }),
    );
  });
});

describe('prune', () => {
  it('deletes what no rule keeps, and nothing else in the folder', async () => {
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

  it('changes nothing on a dry run', async () => {
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

  it('deletes nothing when none is good', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1);
    truncateSync(join(run.path, 'step-1/shard-0'), 0);
    expect(await prune(run.store, { retention: KEEP_ONE })).toMatchObject({ removed: [], lastGood: { checkpoint: null } });
  });

  it('plans anew when the newest turns out bad in the middle', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3, 4);
    let removed = 0;
    const fs = {
      ...realFs,
      rename(from: string, to: string) {
        realFs.rename(from, to);
        // After the first deletion the newest loses its bytes.
        if (to.includes('/trash/') && removed++ === 0) truncateSync(join(run.path, 'step-4/shard-0'), 0);
      },
    };
    await prune({ ...run.store, fs }, { retention: KEEP_ONE });
    expect(names(run.path)).toEqual(['step-3']);
    expect((await lastGood(run.store)).checkpoint?.name).toBe('step-3');
  });

  it('goes by the run and its order, not by numbers: an older attempt with higher steps goes first', async () => {
    using run = testRun();
    await sealSteps(run.store, 'old', 900, 1000);
    await sealSteps(run.store, 'new', 10, 20);
    await prune(run.store, { retention: { ...KEEP_ONE, last: 2 } });
    expect(names(run.path)).toEqual(['step-10', 'step-20']);
  });

  it('finishes what an interrupted one left in the trash, and removes what fenced attempts had staged', async () => {
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

  it('leaves pinned ones until they are unpinned', async () => {
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

describe('prune beside others', () => {
  /** Something that happens just before the first deletion. */
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

  it('leaves what a person pins or rolls back to meanwhile', async () => {
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

  it('does not fail, nor claim to have deleted anything, when another empties the trash under its hands', async () => {
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

  it('keeps the verified one of two that have one name, a folder and files beside others', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1);
    const [dir] = scan(run.store).sealed;
    const beside = { ...dir, kind: 'files' } as SealedCheckpoint;
    const facts = { sealed: [dir as SealedCheckpoint, beside], rolledBack: [], rollback: null, lastGood: beside, pins: new Set<string>() };
    expect(planRetention({ ...facts, nowMs: 0 }, KEEP_ONE).remove).toEqual([]);
  });

  it('honours a pin whatever the checkpoint is called', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    renameSync(join(run.path, 'step-1'), join(run.path, 'before.tmp'));
    pin(run.store, findSealed(run.store, 'before.tmp'));
    await prune(run.store, { retention: KEEP_ONE });
    expect(names(run.path)).toEqual(['before.tmp', 'step-2']);
  });
});

describe('rolling back', () => {
  it('makes an older checkpoint the last good one, and deletes nothing', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    await rollBack(run.store, findSealed(run.store, '2'));
    expect((await lastGood(run.store)).checkpoint?.name).toBe('step-2');
    expect(names(run.path)).toEqual(['step-1', 'step-2', 'step-3']);
    expect(scan(run.store).rolledBack.map(({ name }) => name)).toEqual(['step-3']);
  });

  it('stops a trainer that still runs from committing', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1, 2);
    await rollBack(run.store, findSealed(run.store, '1'));
    await expect(stagedSave(run.store, attempt, { step: 3 })).rejects.toMatchObject({ code: 'ATTEMPT_FENCED' });
  });

  it('counts what the next attempt saves, also under a step that was rolled back', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    await rollBack(run.store, findSealed(run.store, '1'));
    await sealSteps(run.store, 'h', 2);
    expect((await lastGood(run.store)).checkpoint).toMatchObject({ name: 'step-2-a3', manifest: { attempt: 3, step: 2 } });
  });

  it('to nothing starts fresh; undone, everything counts again', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    await rollBack(run.store, null);
    expect(await lastGood(run.store)).toMatchObject({ checkpoint: null, skipped: [] });
    expect(existsSync(join(run.path, 'step-2'))).toBe(true);
    expect(undoRollback(run.store)).toBe(true);
    expect(undoRollback(run.store)).toBe(false);
    expect((await lastGood(run.store)).checkpoint?.name).toBe('step-2');
  });

  it('holds also for an attempt that starts before the decision is there', async () => {
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

  it('keeps what was rolled back until something sealed since then has taken its place', async () => {
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

  it('keeps what was rolled back and is pinned, or what a rule keeps', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3, 4);
    pin(run.store, findSealed(run.store, '3'));
    await rollBack(run.store, null);
    await sealSteps(run.store, 'h', 1);
    await prune(run.store, { retention: { ...KEEP_ONE, every: 4 } });
    expect(names(run.path)).toEqual(['step-1-a3', 'step-3', 'step-4']);
  });

  it('lets nothing that was rolled back go on the word of a replacement that is bad', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    await rollBack(run.store, findSealed(run.store, '1'));
    await sealSteps(run.store, 'h', 2);
    truncateSync(join(run.path, 'step-2-a3/shard-0'), 0);
    await prune(run.store, { retention: KEEP_ONE });
    expect(names(run.path)).toEqual(['step-1', 'step-2', 'step-3']);
  });

  it('to a bad one, or to one that is not there, is refused and changes nothing', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    truncateSync(join(run.path, 'step-1/shard-0'), 0);
    await expect(rollBack(run.store, findSealed(run.store, '1'))).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_GOOD' });
    expect(() => findSealed(run.store, '7')).toThrow(expect.objectContaining({ code: 'NOT_SEALED' }));
    expect((await lastGood(run.store)).checkpoint?.name).toBe('step-2');
  });

  it('is never forgotten in silence', async () => {
    using run = testRun({ clock: new VirtualClock() });
    await sealSteps(run.store, 'g', 1, 2);
    await rollBack(run.store, findSealed(run.store, '1'));
    writeFileSync(join(run.path, '.holdfast/rollback.json'), '{');
    await expect(lastGood(run.store)).rejects.toMatchObject({ code: 'RUN_DAMAGED' });
  });
});
