import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { alterFile, cutEnd, fixtureData, flipBit } from '../../../test/support/fixture-copy.ts';
import { testRun, type TestRun } from '../../../test/support/sealed-run.ts';
import { MEMORY, tempFolder } from '../../../test/support/temp-folder.ts';
import { verifyPaths } from '../../verify/verify.ts';
import { adopt, type AdoptOptions } from './adopt.ts';
import { startAttempt } from '../attempt/attempt.ts';
import { realFs } from '../disk/durable-fs.ts';
import { lastGood } from '../resume/last-good.ts';
import { readRun } from '../folder/store.ts';

const verify = async (path: string, level: 'quick' | 'deep' = 'deep') =>
  (await verifyPaths([path], { level, signal: new AbortController().signal })).paths[0]?.checkpoints ?? [];

/** Copies the single checkpoint of a fixture into the run. */
function place(run: TestRun, id: string, name: string): string {
  const target = join(run.path, name);
  cpSync(fixtureData(id), target, { recursive: true, verbatimSymlinks: true });
  return target;
}

describe('sealing a finished checkpoint', () => {
  it('leaves its files as they are and adds one manifest', async () => {
    using run = testRun();
    const path = place(run, 'hf-trainer', 'checkpoint-2');
    const list = () => readdirSync(path, { recursive: true, encoding: 'utf8' });
    const before = list();
    const adopted = await adopt(run.store, path, { accept: 'anything' });
    expect(list().filter((name) => !before.includes(name))).toEqual(['holdfast.manifest.json']);
    expect(adopted.manifest.origin).toBe('adopted');
    expect((await lastGood(run.store)).checkpoint?.path).toBe(path);
  });

  it('gives formats without checksums the verdict RESUMABLE', async () => {
    using run = testRun();
    const path = place(run, 'torch-legacy-train', 'step-100');
    expect(await verify(path)).toMatchObject([{ verdict: 'UNCHECKED' }]);
    await adopt(run.store, path);
    expect(await verify(path)).toMatchObject([{ verdict: 'RESUMABLE', integrity: { status: 'checked', algorithms: ['crc32c'] } }]);
  });

  it('writes the manifest of a single file beside it', async () => {
    using run = testRun();
    const [name = ''] = readdirSync(fixtureData('torch-zip-train'));
    cpSync(join(fixtureData('torch-zip-train'), name), join(run.path, name));
    const { path, manifestFile } = await adopt(run.store, join(run.path, name));
    expect(basename(manifestFile)).toBe(`${name}.holdfast.json`);
    expect(await verify(path)).toMatchObject([{ verdict: 'RESUMABLE', files: 1 }]);
    expect((await lastGood(run.store)).checkpoint).toMatchObject({ kind: 'files', path });
    flipBit(path, 9000);
    expect(await verify(path)).toMatchObject([{ verdict: 'CORRUPT' }]);
    const { skipped } = await lastGood(run.store, { level: 'deep' });
    expect(skipped).toMatchObject([{ name, state: 'bad' }]);
    expect(readdirSync(run.path)).toEqual(['.holdfast']);
    expect(readdirSync(join(run.path, '.holdfast/quarantine', name)).sort()).toEqual([name, `${name}.holdfast.json`, 'reason.json'].sort());
  });

  it('moves a checkpoint from elsewhere into the run', async () => {
    using run = testRun();
    using elsewhere = tempFolder(MEMORY);
    const path = join(elsewhere.path, 'step-100');
    cpSync(fixtureData('torch-legacy-train'), path, { recursive: true });
    const adopted = await adopt(run.store, path);
    expect(adopted.path).toBe(join(run.path, 'step-100'));
    expect(readdirSync(elsewhere.path)).toEqual([]);
    expect((await lastGood(run.store)).checkpoint?.name).toBe('step-100');
  });

  it('reports it as sealed the second time, and reads every byte again', async () => {
    using run = testRun();
    const path = place(run, 'torch-legacy-train', 'step-100');
    const first = await adopt(run.store, path);
    expect(await adopt(run.store, path)).toEqual({ ...first, wasSealed: true });
    const name = readdirSync(path).find((entry) => entry.endsWith('.pth')) ?? '';
    flipBit(join(path, name), 12_000);
    await expect(adopt(run.store, path)).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_GOOD' });
  });

  it('syncs a sealed checkpoint that was copied back', async () => {
    using run = testRun();
    const path = place(run, 'hf-trainer', 'checkpoint-4');
    await adopt(run.store, path, { accept: 'anything' });
    cpSync(path, join(run.path, 'copy'), { recursive: true });
    const synced = new Set<string>();
    const fs = {
      ...realFs,
      fsyncFile(one: string) {
        realFs.fsyncFile(one);
        synced.add(one);
      },
      fsyncFolder(one: string) {
        realFs.fsyncFolder(one);
        synced.add(one);
      },
    };
    expect(await adopt({ ...run.store, fs }, join(run.path, 'copy'))).toMatchObject({ wasSealed: true });
    const everything = readdirSync(join(run.path, 'copy'), { recursive: true, encoding: 'utf8' }).map((name) =>
      join(run.path, 'copy', name),
    );
    expect(everything.length).toBeGreaterThan(2);
    expect([run.path, join(run.path, 'copy'), ...everything].filter((one) => !synced.has(one))).toEqual([]);
  });

  it('uses the newest attempt, and refuses a stale one', async () => {
    using run = testRun();
    const path = place(run, 'torch-legacy-train', 'step-100');
    await startAttempt(run.store, { gang: 'a' });
    await startAttempt(run.store, { gang: 'b' });
    await expect(adopt(run.store, path, { attempt: 1 })).rejects.toMatchObject({ code: 'ATTEMPT_FENCED' });
    expect(existsSync(join(path, 'holdfast.manifest.json'))).toBe(false);
    expect((await adopt(run.store, path)).manifest.attempt).toBe(2);
  });

  it('uses a new attempt when the newest has lost its staging, and fails when the caller names that one', async () => {
    using run = testRun();
    const path = place(run, 'torch-legacy-train', 'step-100');
    await startAttempt(run.store, { gang: 'a' });
    rmdirSync(join(run.path, '.holdfast/attempts/1/staging'));
    await expect(adopt(run.store, path, { attempt: 1 })).rejects.toMatchObject({ code: 'RUN_DAMAGED' });
    expect((await adopt(run.store, path)).manifest.attempt).toBe(2);
    expect(await startAttempt(run.store, { gang: 'b' })).toMatchObject({ attempt: 3 });
  });

  it('refuses an attempt that was never started', async () => {
    using run = testRun();
    const path = place(run, 'torch-legacy-train', 'step-100');
    await expect(adopt(run.store, path, { attempt: 99 })).rejects.toThrow(/attempt 99 was never started in .*: there was none yet/);
    await startAttempt(run.store, { gang: 'a' });
    await expect(adopt(run.store, path, { attempt: 99 })).rejects.toThrow(/attempt 99 was never started in .*: the newest is 1/);
    expect(existsSync(join(path, 'holdfast.manifest.json'))).toBe(false);
  });

  it('uses the newer attempt when one starts in the middle', async () => {
    using run = testRun();
    const path = place(run, 'torch-legacy-train', 'step-100');
    await startAttempt(run.store, { gang: 'a' });
    let isFenced = false;
    const fs = {
      ...realFs,
      rename(from: string, to: string) {
        if (!isFenced && to.endsWith('holdfast.manifest.json')) {
          isFenced = true;
          const [attempts, fenced] = [join(run.path, '.holdfast/attempts'), join(run.path, '.holdfast/fenced')];
          mkdirSync(join(attempts, '2/staging'), { recursive: true });
          writeFileSync(join(attempts, '2/attempt.json'), JSON.stringify({ schema: 'holdfast.attempt/1', attempt: 2, gang: 'b' }));
          realFs.rename(join(attempts, '1/staging'), join(fenced, '1'));
        }
        realFs.rename(from, to);
      },
    };
    expect((await adopt({ ...run.store, fs }, path)).manifest.attempt).toBe(2);
  });
});

describe('sealing is refused, and nothing is written', () => {
  const cases: readonly (readonly [string, string, string, (path: string) => void, AdoptOptions])[] = [
    ['a cut file', 'torch-zip-train', 'CHECKPOINT_NOT_GOOD', (path) => cutEnd(only(path), 100), {}],
    ['a file with a changed byte', 'torch-zip-train', 'CHECKPOINT_NOT_GOOD', (path) => alterFile(only(path), invertMiddle), {}],
    ['bare weights', 'safetensors-single', 'CHECKPOINT_NOT_GOOD', () => {}, {}],
    [
      'a link that leads elsewhere',
      'torch-zip-train',
      'CHECKPOINT_NOT_SEALABLE',
      (path) => symlinkSync('/etc/passwd', join(path, 'link')),
      {},
    ],
    ['a folder of several checkpoints', 'hf-trainer-run', 'CHECKPOINT_NOT_SEALABLE', () => {}, {}],
    ['a folder that only leads to one', 'hf-trainer-run', 'CHECKPOINT_NOT_SEALABLE', leaveOne, {}],
  ];
  it.each(cases)('for %s', async (_, id, code, damage, options) => {
    using folder = tempFolder();
    const path = join(folder.path, 'step-100');
    cpSync(fixtureData(id), path, { recursive: true, verbatimSymlinks: true });
    damage(path);
    await expect(adopt(readRun(folder.path), path, options)).rejects.toMatchObject({ code });
    expect(readdirSync(folder.path)).toEqual(['step-100']);
    expect(existsSync(join(path, 'holdfast.manifest.json'))).toBe(false);
  });

  it('for a folder of an unknown format, unless the options accept it', async () => {
    using run = testRun();
    const path = join(run.path, 'step-7');
    mkdirSync(path);
    writeFileSync(join(path, 'state'), 'whatever');
    await expect(adopt(run.store, path)).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_GOOD' });
    expect((await adopt(run.store, path, { accept: 'anything' })).manifest).toMatchObject({ step: 7, format: null });
    expect((await lastGood(run.store)).checkpoint?.name).toBe('step-7');
  });

  it.each(['.step-7', 'step-7.holdfast.json'])('for a folder named %s, which no scan would find', async (name) => {
    using run = testRun();
    const path = join(run.path, name);
    mkdirSync(path);
    writeFileSync(join(path, 'state'), 'whatever');
    await expect(adopt(run.store, path, { step: 7, accept: 'anything' })).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_SEALABLE' });
    expect(readdirSync(path)).toEqual(['state']);
  });

  it('for a file whose name is not UTF-8, which the seal could not name', async () => {
    using run = testRun();
    const path = join(run.path, 'step-7');
    mkdirSync(path);
    writeFileSync(join(path, 'state'), 'whatever');
    writeFileSync(Buffer.concat([Buffer.from(`${path}/shard-`), Buffer.from([0xff])]), 'more');
    await expect(adopt(run.store, path, { accept: 'anything' })).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_SEALABLE' });
  });

  it('for bare weights, unless the options accept them', async () => {
    using run = testRun();
    const path = place(run, 'safetensors-single', 'step-7');
    expect((await adopt(run.store, path, { accept: 'weights' })).manifest.step).toBe(100);
    expect((await lastGood(run.store)).checkpoint?.path).toBe(path);
  });

  it('for a checkpoint of another run, an empty folder, the folder of a run and a missing path', async () => {
    using run = testRun();
    using other = testRun();
    const path = place(run, 'torch-legacy-train', 'step-100');
    await adopt(run.store, path);
    await expect(adopt(other.store, path)).rejects.toMatchObject({ code: 'RUN_FOREIGN' });
    mkdirSync(join(run.path, 'empty'));
    await expect(adopt(run.store, join(run.path, 'empty'))).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_SEALABLE' });
    await expect(adopt(run.store, run.path)).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_SEALABLE' });
    await expect(adopt(run.store, '/')).rejects.toMatchObject({
      code: 'CHECKPOINT_NOT_SEALABLE',
      message: '/ is the root of the file system',
    });
    await expect(adopt(run.store, join(run.path, 'nowhere'))).rejects.toMatchObject({ code: 'PATH_NOT_FOUND' });
  });

  it.each(['read', 'seal'] as const)('when its signal aborts it in the middle (%s), and the files stay unchanged', async (when) => {
    using run = testRun();
    const path = place(run, 'hf-trainer', 'checkpoint-2');
    const list = () => readdirSync(run.path, { recursive: true, encoding: 'utf8' }).filter((name) => !name.startsWith('.holdfast'));
    const before = list();
    const stop = new AbortController();
    const stopped = adopt(run.store, path, {
      accept: 'anything',
      signal: stop.signal,
      onBytes: (phase) => (phase === when ? stop.abort(new Error('stopped')) : undefined),
    });
    await expect(stopped).rejects.toThrow('stopped');
    expect(list()).toEqual(before);
    expect(await adopt(run.store, path, { accept: 'anything' })).toMatchObject({ wasSealed: false });
  });

  it('while a process writes to a file', async () => {
    using run = testRun();
    const path = place(run, 'torch-legacy-train', 'step-100');
    const file = only(path);
    const fs = {
      ...realFs,
      list(folder: string) {
        if (folder === path && isLate) writeFileSync(join(path, 'late'), 'x');
        isLate ||= folder === path;
        return realFs.list(folder);
      },
    };
    let isLate = false;
    await expect(adopt({ ...run.store, fs }, path)).rejects.toMatchObject({ code: 'CHECKPOINT_CHANGED' });
    expect(readFileSync(file).length).toBeGreaterThan(0);
  });
});

/** Reverses the bytes of the middle third. */
function invertMiddle(bytes: Buffer): Buffer {
  const third = Math.floor(bytes.length / 3);
  return Buffer.from(bytes.map((byte, index) => (index > third && index < 2 * third ? ~byte : byte)));
}

function leaveOne(path: string): void {
  for (const step of [4, 6]) rmSync(join(path, `run/checkpoint-${step}`), { recursive: true });
}

function only(path: string): string {
  return join(path, readdirSync(path).find((entry) => entry !== 'link') ?? '');
}
