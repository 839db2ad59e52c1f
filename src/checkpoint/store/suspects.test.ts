import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { flipBit } from '../../../test/support/fixture-copy.ts';
import { sealSteps, type TestRun, testRun } from '../../../test/support/sealed-run.ts';
import { adopt } from './adopt.ts';
import { type DurableFs, realFs } from './durable-fs.ts';
import { lastGood } from './last-good.ts';
import { readCache, rememberSealed, rememberSuspicion } from './last-good-cache.ts';
import { prune } from './prune.ts';
import { restore } from './quarantine.ts';
import { findSealed } from './roll-back.ts';

const KEEP_ONE = { last: 1, every: null, withinMs: null };

/** Names and sizes are as they were. */
function spoil({ path }: TestRun, step: number): void {
  const file = join(path, `step-${step}/shard-0`);
  flipBit(file, statSync(file).size - 1);
}

const reading = (file: string, code: string): DurableFs => ({
  ...realFs,
  readFile(path) {
    if (path.endsWith(file)) throw Object.assign(new Error(code), { code });
    return realFs.readFile(path);
  },
});

describe('a checkpoint that was found bad and is still there', () => {
  it('by a seal is not taken again', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    spoil(run, 2);
    await expect(adopt(run.store, join(run.path, 'step-2'))).rejects.toThrow(/is sealed, but part 0 of shard-0 does not match/);
    expect((await prune(run.store, { retention: KEEP_ONE })).lastGood).toMatchObject({
      checkpoint: { name: 'step-1' },
      skipped: [{ name: 'step-2', state: 'bad' }],
    });
  });

  it.each(['EACCES', 'EBUSY', 'ENOSPC'])('because it cannot be moved (%s) is passed by every time', async (code) => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    spoil(run, 3);
    spoil(run, 2);
    const fs = {
      ...realFs,
      rename(from: string, to: string) {
        if (/step-[23]$/.test(from)) throw Object.assign(new Error(code), { code });
        realFs.rename(from, to);
      },
    };
    const store = { ...run.store, fs };
    const passedBy = ['step-3', 'step-2'].map((name) => ({ name, state: 'bad', quarantined: null }));
    const expected = { checkpoint: { name: 'step-1' }, skipped: passedBy };
    expect(await lastGood(store, { level: 'deep' })).toMatchObject(expected);
    expect((await prune(store, { retention: KEEP_ONE })).lastGood).toMatchObject(expected);
    expect(await lastGood(store)).toMatchObject(expected);
  });
});

describe('which checkpoints are suspects', () => {
  it('is not forgotten by who had begun to read when one came back from quarantine', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    spoil(run, 3);
    await lastGood(run.store, { level: 'deep' });
    rememberSuspicion(run.store);
    const onCheck = (): void => {
      if (!existsSync(join(run.path, 'step-3'))) restore(run.store, 'step-3');
    };
    expect(await lastGood(run.store, { onCheck })).toMatchObject({ checkpoint: { name: 'step-2' }, level: 'deep' });
    expect((await prune(run.store, { retention: KEEP_ONE })).lastGood).toMatchObject({
      checkpoint: { name: 'step-2' },
      skipped: [{ name: 'step-3', state: 'bad' }],
    });
  });

  it('is not forgotten where an I/O error was met while every byte was read', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    expect(await lastGood(run.store, { level: 'deep', onCheck: () => rememberSuspicion(run.store) })).toMatchObject({ level: 'deep' });
    expect(await lastGood(run.store)).toMatchObject({ level: 'deep', because: 'io-error' });
    expect(await lastGood(run.store)).toMatchObject({ level: 'quick', because: 'default' });
  });

  it('is unknown where the disk does not tell: then every byte is read, also after a save', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const sick = { ...run.store, fs: reading('last-good.json', 'EIO') };
    expect(await lastGood(sick, { isReadOnly: true })).toMatchObject({ level: 'deep', because: 'io-error' });
    const { name, manifest } = findSealed(run.store, '2');
    rememberSealed(sick, name, manifest);
    expect(await lastGood(run.store)).toMatchObject({ level: 'deep', because: 'io-error' });
    expect(readCache(run.store)).toMatchObject({ name: 'step-2', isSuspect: false });
  });
});
