import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { flipBit } from '../../../test/support/fixture-copy.ts';
import { sealSteps, type TestRun, testRun } from '../../../test/support/sealed-run.ts';
import { adopt } from '../adopt/adopt.ts';
import { type DurableFs, realFs } from '../disk/durable-fs.ts';
import { lastGood } from './last-good.ts';
import { readCache, rememberSealed, rememberSuspicion } from '../folder/last-good-cache.ts';
import { prune } from '../retention/prune.ts';
import { restore } from './quarantine.ts';
import { findSealed } from '../attempt/roll-back.ts';

const KEEP_ONE = { last: 1, every: null, withinMs: null };

/** Names and sizes are unchanged. */
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

describe('a bad checkpoint that stays in place', () => {
  it('is not used again after a seal has found it bad', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    spoil(run, 2);
    await expect(adopt(run.store, join(run.path, 'step-2'))).rejects.toThrow(/is sealed, but part 0 of shard-0 does not match/);
    expect((await prune(run.store, { retention: KEEP_ONE })).lastGood).toMatchObject({
      checkpoint: { name: 'step-1' },
      skipped: [{ name: 'step-2', state: 'bad' }],
    });
  });

  it.each(['EACCES', 'EBUSY', 'ENOSPC'])('is skipped every time when it cannot be moved (%s)', async (code) => {
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

describe('the list of suspects', () => {
  it('survives a deep read that began before a checkpoint was restored from quarantine', async () => {
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

  it('survives a deep read that met an I/O error', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    expect(await lastGood(run.store, { level: 'deep', onCheck: () => rememberSuspicion(run.store) })).toMatchObject({ level: 'deep' });
    expect(await lastGood(run.store)).toMatchObject({ level: 'deep', because: 'io-error' });
    expect(await lastGood(run.store)).toMatchObject({ level: 'quick', because: 'default' });
  });

  it('is unknown when the disk fails to read it: then resume reads every byte, also after a save', async () => {
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
