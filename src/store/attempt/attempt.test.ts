import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { seal, sealSteps, stagedSave, type TestRun, testRun } from '../../../test/support/sealed-run.ts';
import { VirtualClock } from '../../core/clock.ts';
import { adopt } from '../adopt/adopt.ts';
import { newestAttempt, publishDeadline, startAttempt } from './attempt.ts';
import { commitSave } from '../commit/commit.ts';
import { realFs } from '../disk/durable-fs.ts';
import { lastGood } from '../resume/last-good.ts';
import { STORE_FOLDERS } from '../../seal/names.ts';
import { pin } from '../retention/pins.ts';
import { prune } from '../retention/prune.ts';
import { findSealed, rollBack } from './roll-back.ts';
import { beginSave, writeReceipt } from '../commit/save.ts';
import { scan } from '../folder/scan.ts';
import { openRun, type OpenStore } from '../folder/store.ts';

function startInAnotherProcess(run: string, gang: string): void {
  const modules = ['./attempt.ts', '../folder/store.ts'].map((path) => new URL(path, import.meta.url).href);
  const code = `
    const [{ startAttempt }, { openRun }] = await Promise.all(${JSON.stringify(modules)}.map((name) => import(name)));
    await startAttempt(openRun(${JSON.stringify(run)}), { gang: ${JSON.stringify(gang)} });`;
  execFileSync(process.execPath, ['--input-type=module', '-e', code]);
}

describe('an attempt', () => {
  it('is numbered from one, and joined by every process of its gang', async () => {
    using run = testRun();
    const started = await Promise.all([1, 2, 3].map(() => startAttempt(run.store, { gang: 'g' })));
    expect(started.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
    expect(await startAttempt(run.store, { gang: 'h' })).toEqual({ attempt: 2, gang: 'h' });
    expect(newestAttempt(run.store)).toEqual({ attempt: 2, gang: 'h' });
  });

  it('can have a number from the caller, which belongs to one gang', async () => {
    using run = testRun();
    expect(await startAttempt(run.store, { gang: 'g', attempt: 7 })).toEqual({ attempt: 7, gang: 'g' });
    expect(await startAttempt(run.store, { gang: 'g', attempt: 7 })).toEqual({ attempt: 7, gang: 'g' });
    await expect(startAttempt(run.store, { gang: 'h', attempt: 7 })).rejects.toMatchObject({ code: 'ATTEMPT_TAKEN' });
  });

  it('is refused below an existing number, also for its own gang', async () => {
    using run = testRun();
    await startAttempt(run.store, { gang: 'g', attempt: 3 });
    await startAttempt(run.store, { gang: 'h', attempt: 5 });
    await expect(startAttempt(run.store, { gang: 'late', attempt: 4 })).rejects.toMatchObject({ code: 'ATTEMPT_FENCED' });
    await expect(startAttempt(run.store, { gang: 'g', attempt: 3 })).rejects.toMatchObject({ code: 'ATTEMPT_FENCED' });
  });
});

describe('an attempt in a run with checkpoints of other tools', () => {
  it.each([
    ['EACCES', 'default'],
    ['EIO', 'io-error'],
  ])('starts even if the folder of such a checkpoint cannot be synced: %s', async (code, because) => {
    using run = testRun();
    mkdirSync(join(run.path, 'of-a-tool'));
    writeFileSync(join(run.path, 'of-a-tool/weights'), 'bytes');
    await adopt(run.store, join(run.path, 'of-a-tool'), { accept: 'anything', step: 1 });
    const failed: string[] = [];
    const fs = {
      ...realFs,
      fsyncFolder(path: string) {
        if (path !== join(run.path, 'of-a-tool')) return realFs.fsyncFolder(path);
        failed.push(path);
        throw Object.assign(new Error(code), { code });
      },
    };
    expect(await startAttempt({ ...run.store, fs }, { gang: 'g' })).toMatchObject({ attempt: 1 });
    expect(failed).toHaveLength(1);
    expect(await lastGood(run.store)).toMatchObject({ checkpoint: { name: 'of-a-tool' }, because });
  });
});

describe('the start of an attempt', () => {
  it.each([
    ['boot-1', ['a']],
    ['boot-2', []],
    [null, ['a', 'b']],
  ])('in boot %j syncs the seals of its own run that a crash could still remove', async (bootId, expected) => {
    using run = testRun();
    using other = testRun();
    const sealed = async (store: OpenStore, name: string): Promise<void> => {
      mkdirSync(join(store.path, name));
      writeFileSync(join(store.path, name, 'weights'), 'bytes');
      await adopt(store, join(store.path, name), { accept: 'anything', step: 1 });
    };
    await sealed(run.store, 'a');
    await sealed({ ...run.store, bootId: 'boot-0' }, 'b');
    await sealed(other.store, 'foreign');
    cpSync(join(other.path, 'foreign'), join(run.path, 'foreign'), { recursive: true });
    const synced: string[] = [];
    const fs = {
      ...realFs,
      fsyncFolder(path: string) {
        realFs.fsyncFolder(path);
        synced.push(path);
      },
    };
    await startAttempt({ ...run.store, fs, bootId }, { gang: 'next' });
    expect(['a', 'b', 'foreign'].filter((name) => synced.includes(join(run.path, name)))).toEqual(expected);
    expect(synced.at(-1)).toBe(run.path);
  });
});

describe('an attempt in a run whose copy lost the empty folders', () => {
  it('fences the older attempt', async () => {
    using run = testRun();
    const older = await startAttempt(run.store, { gang: 'g' });
    const late = await stagedSave(run.store, older, { step: 1 });
    rmdirSync(join(run.path, '.holdfast/fenced'));
    await startAttempt(run.store, { gang: 'h' });
    expect(() => commitSave(run.store, late)).toThrow(expect.objectContaining({ code: 'ATTEMPT_FENCED' }));
  });

  it('fails to start if the older one cannot be fenced', async () => {
    using run = testRun();
    const older = await startAttempt(run.store, { gang: 'g' });
    const save = await stagedSave(run.store, older, { step: 1 });
    rmdirSync(join(run.path, '.holdfast/fenced'));
    writeFileSync(join(run.path, '.holdfast/fenced'), '');
    await expect(startAttempt(run.store, { gang: 'h' })).rejects.toMatchObject({ code: 'RUN_DAMAGED' });
    expect(commitSave(run.store, save).name).toBe('step-1');
  });

  it('starts, saves, prunes and pins', async () => {
    using run = testRun();
    for (const name of STORE_FOLDERS) rmdirSync(join(run.path, '.holdfast', name));
    const store = openRun(run.path);
    await sealSteps(store, 'g', 1, 2);
    pin(store, findSealed(store, '2'));
    expect((await prune(store, { retention: { last: 1, every: null, withinMs: null } })).removed).toHaveLength(1);
  });
});

describe('a copied checkpoint of a newer attempt', () => {
  /**
   * The run continued elsewhere as attempt 5. A copy brought its step 50 to a folder that knows
   * only attempt 1.
   */
  async function copiedInto(run: TestRun): Promise<void> {
    await sealSteps(run.store, 'here', 10);
    using elsewhere = testRun();
    const store = { ...elsewhere.store, run: run.store.run };
    await seal(store, await startAttempt(store, { gang: 'there', attempt: 5 }), { step: 50 });
    cpSync(join(elsewhere.path, 'step-50'), join(run.path, 'step-50'), { recursive: true });
  }

  it('is older than a save of the next attempt', async () => {
    using run = testRun();
    await copiedInto(run);
    const next = await startAttempt(run.store, { gang: 'next' });
    expect(next.attempt).toBe(6);
    await seal(run.store, next, { step: 60 });
    expect((await lastGood(run.store)).checkpoint?.name).toBe('step-60');
  });

  it('refuses a given attempt number whose saves would never count', async () => {
    using run = testRun();
    await copiedInto(run);
    await expect(startAttempt(run.store, { gang: 'late', attempt: 3 })).rejects.toMatchObject({ code: 'ATTEMPT_FENCED' });
  });

  it('can be rolled back', async () => {
    using run = testRun();
    await copiedInto(run);
    await rollBack(run.store, findSealed(run.store, '10'));
    expect((await lastGood(run.store)).checkpoint?.name).toBe('step-10');
  });
});

describe('the number of an attempt', () => {
  it('is refused if its successor would have the same number', async () => {
    using run = testRun();
    for (const attempt of [2 ** 53 - 1, 1e15]) {
      await expect(startAttempt(run.store, { gang: 'g', attempt })).rejects.toMatchObject({ code: 'USAGE' });
    }
    await startAttempt(run.store, { gang: 'g', attempt: 1e15 - 1 });
    await expect(startAttempt(run.store, { gang: 'h' })).rejects.toMatchObject({ code: 'USAGE' });
  });
});

describe('a writer of an older attempt', () => {
  it('cannot commit its staged save', async () => {
    using run = testRun();
    const old = await startAttempt(run.store, { gang: 'old' });
    const save = await stagedSave(run.store, old, { step: 9 });
    await startAttempt(run.store, { gang: 'new' });
    expect(() => commitSave(run.store, save)).toThrow(expect.objectContaining({ code: 'ATTEMPT_FENCED' }));
    expect(readdirSync(run.path)).toEqual(['.holdfast']);
  });

  it('can neither begin a save nor write a receipt', async () => {
    using run = testRun();
    const old = await startAttempt(run.store, { gang: 'old' });
    const save = beginSave(run.store, old, { step: 9, worldSize: 1 });
    writeFileSync(join(save.data, 'x'), 'x');
    await startAttempt(run.store, { gang: 'new' });
    expect(() => beginSave(run.store, old, { step: 10, worldSize: 1 })).toThrow(expect.objectContaining({ code: 'ATTEMPT_FENCED' }));
    await expect(writeReceipt(run.store, save, { rank: 0 })).rejects.toMatchObject({ code: 'ATTEMPT_FENCED' });
  });

  it('is refused also when the newer attempt starts between its last check and its rename', async () => {
    using run = testRun();
    const old = await startAttempt(run.store, { gang: 'old' });
    const save = await stagedSave(run.store, old, { step: 9 });
    let isFenced = false;
    const fs = {
      ...realFs,
      rename(from: string, to: string) {
        if (!isFenced) startInAnotherProcess(run.path, 'new');
        isFenced = true;
        realFs.rename(from, to);
      },
    };
    expect(() => commitSave({ ...run.store, fs }, save)).toThrow(expect.objectContaining({ code: 'ATTEMPT_FENCED' }));
    expect(readdirSync(run.path)).toEqual(['.holdfast']);
  });

  it('finds nothing to rename after the newer attempt has moved the folder, even when its rename held that folder', async () => {
    using run = testRun();
    const old = await startAttempt(run.store, { gang: 'old' });
    const save = await stagedSave(run.store, old, { step: 9 });
    await startAttempt(run.store, { gang: 'new' });
    // Acts like a rename inside the kernel, which sees the same folder wherever it lies by now.
    const held = join(run.path, '.holdfast/fenced/1', save.save);
    expect(existsSync(join(held, 'data'))).toBe(false);
    expect(readdirSync(join(held, 'data.fenced'))).toEqual(['shard-0']);
  });

  it('is visible to the newer attempt if its commit came first', async () => {
    using run = testRun();
    await seal(run.store, await startAttempt(run.store, { gang: 'old' }), { step: 9 });
    await startAttempt(run.store, { gang: 'new' });
    expect(scan(run.store).sealed.map(({ name }) => name)).toEqual(['step-9']);
  });

  it('seals saves that sort behind every save of the newer attempt, whatever their steps', async () => {
    using run = testRun();
    await seal(run.store, await startAttempt(run.store, { gang: 'old' }), { step: 900 });
    await seal(run.store, await startAttempt(run.store, { gang: 'new' }), { step: 5 });
    expect(scan(run.store).sealed.map(({ name }) => name)).toEqual(['step-5', 'step-900']);
  });
});

describe('a replacement', () => {
  it('waits until its predecessor’s published deadline, so that a flush inside the grace counts', async () => {
    const clock = new VirtualClock();
    using run = testRun({ clock });
    const old = await startAttempt(run.store, { gang: 'old' });
    const save = await stagedSave(run.store, old, { step: 9 });
    publishDeadline(run.store, old, clock.now() + 30_000);
    const starting = startAttempt(run.store, { gang: 'new' });
    await clock.advance(29_000);
    expect(commitSave(run.store, save).name).toBe('step-9');
    const late = await stagedSave(run.store, old, { step: 10 });
    await clock.advance(2000);
    expect(await starting).toEqual({ attempt: 2, gang: 'new' });
    expect(() => commitSave(run.store, late)).toThrow(expect.objectContaining({ code: 'ATTEMPT_FENCED' }));
  });

  it('waits for the whole of a grace of one hour', async () => {
    const clock = new VirtualClock();
    using run = testRun({ clock });
    const old = await startAttempt(run.store, { gang: 'old' });
    publishDeadline(run.store, old, clock.now() + 3_600_000);
    const starting = startAttempt(run.store, { gang: 'new' });
    await clock.advance(3_590_000);
    expect((await stagedSave(run.store, old, { step: 9 })).attempt).toBe(1);
    await clock.advance(10_000);
    expect(await starting).toEqual({ attempt: 2, gang: 'new' });
  });

  it('starts at once when its predecessor has published that it is done', async () => {
    const clock = new VirtualClock();
    using run = testRun({ clock });
    const old = await startAttempt(run.store, { gang: 'old' });
    publishDeadline(run.store, old, clock.now() + 60_000);
    const starting = startAttempt(run.store, { gang: 'new' });
    await clock.advance(1000);
    publishDeadline(run.store, old, null);
    await clock.advance(1000);
    expect(await starting).toEqual({ attempt: 2, gang: 'new' });
  });

  it('waits for a bounded time when a wrong clock set the deadline', async () => {
    const clock = new VirtualClock();
    using run = testRun({ clock });
    const old = await startAttempt(run.store, { gang: 'old' });
    const ahead = new VirtualClock(Date.UTC(2099, 0, 1));
    publishDeadline({ ...run.store, clock: ahead }, old, ahead.now() + 5000);
    const starting = startAttempt(run.store, { gang: 'new' });
    await clock.advance(5000);
    expect(await starting).toEqual({ attempt: 2, gang: 'new' });
  });

  it('stops waiting when its signal aborts', async () => {
    const clock = new VirtualClock();
    using run = testRun({ clock });
    const old = await startAttempt(run.store, { gang: 'old' });
    publishDeadline(run.store, old, clock.now() + 60_000);
    const stop = new AbortController();
    const starting = startAttempt(run.store, { gang: 'new', signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(starting).rejects.toThrow('enough');
    expect((await stagedSave(run.store, old, { step: 1 })).attempt).toBe(1);
  });
});
