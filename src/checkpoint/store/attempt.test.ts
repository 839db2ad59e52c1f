import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { seal, sealSteps, stagedSave, type TestRun, testRun } from '../../../test/support/sealed-run.ts';
import { VirtualClock } from '../../core/clock.ts';
import { adopt } from './adopt.ts';
import { newestAttempt, publishDeadline, startAttempt } from './attempt.ts';
import { commitSave } from './commit.ts';
import { realFs } from './durable-fs.ts';
import { lastGood } from './last-good.ts';
import { STORE_FOLDERS } from './layout.ts';
import { pin } from './pins.ts';
import { prune } from './prune.ts';
import { findSealed, rollBack } from './roll-back.ts';
import { beginSave, writeReceipt } from './save.ts';
import { scan } from './scan.ts';
import { openRun, type OpenStore } from './store.ts';

function startInAnotherProcess(run: string, gang: string): void {
  const modules = ['attempt', 'store'].map((name) => new URL(`./${name}.ts`, import.meta.url).href);
  const code = `
    const [{ startAttempt }, { openRun }] = await Promise.all(${JSON.stringify(modules)}.map((name) => import(name)));
    await startAttempt(openRun(${JSON.stringify(run)}), { gang: ${JSON.stringify(gang)} });`;
  execFileSync(process.execPath, ['--input-type=module', '-e', code]);
}

describe('an attempt', () => {
  it('is numbered from one, and joined by everyone of its gang', async () => {
    using run = testRun();
    const started = await Promise.all([1, 2, 3].map(() => startAttempt(run.store, { gang: 'g' })));
    expect(started.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
    expect(await startAttempt(run.store, { gang: 'h' })).toEqual({ attempt: 2, gang: 'h' });
    expect(newestAttempt(run.store)).toEqual({ attempt: 2, gang: 'h' });
  });

  it('can have a number from outside, which belongs to one gang', async () => {
    using run = testRun();
    expect(await startAttempt(run.store, { gang: 'g', attempt: 7 })).toEqual({ attempt: 7, gang: 'g' });
    expect(await startAttempt(run.store, { gang: 'g', attempt: 7 })).toEqual({ attempt: 7, gang: 'g' });
    await expect(startAttempt(run.store, { gang: 'h', attempt: 7 })).rejects.toMatchObject({ code: 'ATTEMPT_TAKEN' });
  });

  it('below one that exists is refused, also for its own gang', async () => {
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
  ])('is started although the folder of one of them cannot be synced: %s', async (code, because) => {
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
  ])('in the life %j of the machine makes durable the seals of its own run that a crash could still take', async (bootId, expected) => {
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

describe('an attempt in a run whose empty folders were lost on the way of a copy', () => {
  it('fences the older one all the same', async () => {
    using run = testRun();
    const older = await startAttempt(run.store, { gang: 'g' });
    const late = await stagedSave(run.store, older, { step: 1 });
    rmdirSync(join(run.path, '.holdfast/fenced'));
    await startAttempt(run.store, { gang: 'h' });
    expect(() => commitSave(run.store, late)).toThrow(expect.objectContaining({ code: 'ATTEMPT_FENCED' }));
  });

  it('is not started where the older one cannot be fenced', async () => {
    using run = testRun();
    const older = await startAttempt(run.store, { gang: 'g' });
    const save = await stagedSave(run.store, older, { step: 1 });
    rmdirSync(join(run.path, '.holdfast/fenced'));
    writeFileSync(join(run.path, '.holdfast/fenced'), '');
    await expect(startAttempt(run.store, { gang: 'h' })).rejects.toMatchObject({ code: 'RUN_DAMAGED' });
    expect(commitSave(run.store, save).name).toBe('step-1');
  });

  it('can be started, and save, prune and pin', async () => {
    using run = testRun();
    for (const name of STORE_FOLDERS) rmdirSync(join(run.path, '.holdfast', name));
    const store = openRun(run.path);
    await sealSteps(store, 'g', 1, 2);
    pin(store, findSealed(store, '2'));
    expect((await prune(store, { retention: { last: 1, every: null, withinMs: null } })).removed).toHaveLength(1);
  });
});

describe('a checkpoint of a newer attempt that was copied here', () => {
  /** The run went on elsewhere as attempt 5, and its step 50 was brought to a folder that knows of attempt 1 only. */
  async function copiedInto(run: TestRun): Promise<void> {
    await sealSteps(run.store, 'here', 10);
    using elsewhere = testRun();
    const store = { ...elsewhere.store, run: run.store.run };
    await seal(store, await startAttempt(store, { gang: 'there', attempt: 5 }), { step: 50 });
    cpSync(join(elsewhere.path, 'step-50'), join(run.path, 'step-50'), { recursive: true });
  }

  it('is older than what the next attempt saves', async () => {
    using run = testRun();
    await copiedInto(run);
    const next = await startAttempt(run.store, { gang: 'next' });
    expect(next.attempt).toBe(6);
    await seal(run.store, next, { step: 60 });
    expect((await lastGood(run.store)).checkpoint?.name).toBe('step-60');
  });

  it('refuses an attempt from outside whose saves would never count', async () => {
    using run = testRun();
    await copiedInto(run);
    await expect(startAttempt(run.store, { gang: 'late', attempt: 3 })).rejects.toMatchObject({ code: 'ATTEMPT_FENCED' });
  });

  it('can be rolled back from', async () => {
    using run = testRun();
    await copiedInto(run);
    await rollBack(run.store, findSealed(run.store, '10'));
    expect((await lastGood(run.store)).checkpoint?.name).toBe('step-10');
  });
});

describe('the number of an attempt', () => {
  it('is refused where the next one could not be told from it', async () => {
    using run = testRun();
    for (const attempt of [2 ** 53 - 1, 1e15]) {
      await expect(startAttempt(run.store, { gang: 'g', attempt })).rejects.toMatchObject({ code: 'USAGE' });
    }
    await startAttempt(run.store, { gang: 'g', attempt: 1e15 - 1 });
    await expect(startAttempt(run.store, { gang: 'h' })).rejects.toMatchObject({ code: 'USAGE' });
  });
});

describe('a writer of an older attempt', () => {
  it('cannot commit what it had staged', async () => {
    using run = testRun();
    const old = await startAttempt(run.store, { gang: 'old' });
    const save = await stagedSave(run.store, old, { step: 9 });
    await startAttempt(run.store, { gang: 'new' });
    expect(() => commitSave(run.store, save)).toThrow(expect.objectContaining({ code: 'ATTEMPT_FENCED' }));
    expect(readdirSync(run.path)).toEqual(['.holdfast']);
  });

  it('cannot begin a save, nor write a receipt', async () => {
    using run = testRun();
    const old = await startAttempt(run.store, { gang: 'old' });
    const save = beginSave(run.store, old, { step: 9, worldSize: 1 });
    writeFileSync(join(save.data, 'x'), 'x');
    await startAttempt(run.store, { gang: 'new' });
    expect(() => beginSave(run.store, old, { step: 10, worldSize: 1 })).toThrow(expect.objectContaining({ code: 'ATTEMPT_FENCED' }));
    await expect(writeReceipt(run.store, save, { rank: 0 })).rejects.toMatchObject({ code: 'ATTEMPT_FENCED' });
  });

  it('is refused also when the newer one starts between its last look and its rename', async () => {
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

  it('finds nothing to rename even when its rename already held the folder as the newer one moved it', async () => {
    using run = testRun();
    const old = await startAttempt(run.store, { gang: 'old' });
    const save = await stagedSave(run.store, old, { step: 9 });
    await startAttempt(run.store, { gang: 'new' });
    // What a rename inside the kernel sees: the same folder, wherever it lies by now.
    const held = join(run.path, '.holdfast/fenced/1', save.save);
    expect(existsSync(join(held, 'data'))).toBe(false);
    expect(readdirSync(join(held, 'data.fenced'))).toEqual(['shard-0']);
  });

  it('that won the race is seen by the newer one', async () => {
    using run = testRun();
    await seal(run.store, await startAttempt(run.store, { gang: 'old' }), { step: 9 });
    await startAttempt(run.store, { gang: 'new' });
    expect(scan(run.store).sealed.map(({ name }) => name)).toEqual(['step-9']);
  });

  it('comes after every save of the newer one, whatever their steps', async () => {
    using run = testRun();
    await seal(run.store, await startAttempt(run.store, { gang: 'old' }), { step: 900 });
    await seal(run.store, await startAttempt(run.store, { gang: 'new' }), { step: 5 });
    expect(scan(run.store).sealed.map(({ name }) => name)).toEqual(['step-5', 'step-900']);
  });
});

describe('a replacement', () => {
  it('waits out the deadline its predecessor published, so that a flush inside the grace counts', async () => {
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

  it('waits as long as a grace of an hour lasts', async () => {
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

  it('goes on at once when its predecessor says that it is done', async () => {
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

  it('does not wait for ever for a deadline from a clock that is wrong', async () => {
    const clock = new VirtualClock();
    using run = testRun({ clock });
    const old = await startAttempt(run.store, { gang: 'old' });
    const ahead = new VirtualClock(Date.UTC(2099, 0, 1));
    publishDeadline({ ...run.store, clock: ahead }, old, ahead.now() + 5000);
    const starting = startAttempt(run.store, { gang: 'new' });
    await clock.advance(5000);
    expect(await starting).toEqual({ attempt: 2, gang: 'new' });
  });

  it('can be told to stop waiting', async () => {
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
