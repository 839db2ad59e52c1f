import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { flipBit } from '../../../test/support/fixture-copy.ts';
import { seal, sealSteps, stagedSave, testRun } from '../../../test/support/sealed-run.ts';
import { adopt } from '../adopt/adopt.ts';
import type { Attempt } from '../attempt/attempt.ts';
import { type DurableFs, realFs } from '../disk/durable-fs.ts';
import { lastGood } from './last-good.ts';
import { prune } from '../retention/prune.ts';
import { openRun, type OpenStore } from '../folder/store.ts';

const nameOfLastGood = async (store: OpenStore) => (await lastGood(store)).checkpoint?.name ?? null;

/** A file system where stat calls fail for matching paths. */
function failingAt(pattern: RegExp, code: string): DurableFs {
  return {
    ...realFs,
    stat(path) {
      if (pattern.test(path)) throw Object.assign(new Error(`${code}: ${path}`), { code });
      return realFs.stat(path);
    },
  };
}

describe('the last good checkpoint', () => {
  it('is an older one when a deep read finds a changed byte', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    flipBit(join(run.path, 'step-2/shard-0'), 4);
    expect(await nameOfLastGood(run.store)).toBe('step-2');
    expect(await lastGood(run.store, { level: 'deep' })).toMatchObject({
      checkpoint: { name: 'step-1' },
      level: 'deep',
      skipped: [{ name: 'step-2', code: 'MANIFEST_CHECKSUM' }],
    });
  });

  it('is read deep once after each boot of the machine', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const later = openRun(run.path, { bootId: 'boot-2' });
    expect(await lastGood(later)).toMatchObject({ level: 'deep', because: 'boot' });
    expect(await lastGood(later)).toMatchObject({ level: 'quick', because: 'default' });
    expect(await lastGood(run.store)).toMatchObject({ level: 'quick' });
    flipBit(join(run.path, 'step-2/shard-0'), 4);
    expect(await lastGood(openRun(run.path, { bootId: 'boot-3' }))).toMatchObject({ checkpoint: { name: 'step-1' }, because: 'boot' });
  });

  it('is the next older one, read deep, after an I/O error; the unreadable one stays in place', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const sick = { ...run.store, fs: failingAt(/step-2\/shard-0$/, 'EIO') };
    expect(await lastGood(sick)).toMatchObject({
      checkpoint: { name: 'step-1' },
      because: 'io-error',
      level: 'deep',
      skipped: [{ name: 'step-2', state: 'unreadable', quarantined: null }],
    });
    expect(existsSync(join(run.path, 'step-2'))).toBe(true);
    expect(await lastGood(run.store)).toMatchObject({ checkpoint: { name: 'step-2' }, level: 'deep', because: 'io-error' });
    expect(await lastGood(run.store)).toMatchObject({ checkpoint: { name: 'step-2' }, level: 'quick' });
  });

  it.each<[string, (store: OpenStore, attempt: Attempt) => unknown]>([
    ['a receipt', (store, attempt) => stagedSave(store, attempt, { step: 3 })],
    ['a commit', (store, attempt) => seal(store, attempt, { step: 3 })],
    ['a seal', (store) => adopt(store, join(store.path, 'of-a-tool'), { accept: 'anything', step: 3 })],
    ['a prune', (store) => prune(store, { retention: { last: 1, every: null, withinMs: null } })],
  ])('is read deep once after %s met an I/O error', async (what, act) => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1, 2);
    mkdirSync(join(run.path, 'of-a-tool'));
    writeFileSync(join(run.path, 'of-a-tool/weights'), 'bytes');
    const fail = (path: string): void => {
      if (!path.includes('last-good') && path !== join(run.path, '.holdfast'))
        throw Object.assign(new Error(`EIO: ${path}`), { code: 'EIO' });
    };
    const isLate = what === 'a commit';
    const fs: DurableFs = {
      ...realFs,
      fsyncFolder(path) {
        if (!isLate || path === run.path) fail(path);
        realFs.fsyncFolder(path);
      },
    };
    await expect(Promise.resolve(act({ ...run.store, fs }, attempt))).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect(await lastGood(run.store)).toMatchObject({ level: 'deep', because: 'io-error' });
    expect(await lastGood(run.store)).toMatchObject({ level: 'quick', because: 'default' });
  });

  it('is read deep after an I/O error, even when a vanished candidate causes a second scan', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    let isMet = false;
    const fs = {
      ...realFs,
      stat(path: string) {
        if (isMet || !path.endsWith('step-3/shard-0')) return realFs.stat(path);
        isMet = true;
        rmSync(join(run.path, 'step-2'), { recursive: true });
        throw Object.assign(new Error('EIO'), { code: 'EIO' });
      },
    };
    expect(await lastGood({ ...run.store, fs })).toMatchObject({ checkpoint: { name: 'step-3' }, level: 'deep', because: 'io-error' });
    expect(await lastGood(run.store)).toMatchObject({ level: 'deep', because: 'io-error' });
    expect(await lastGood(run.store)).toMatchObject({ level: 'quick', because: 'default' });
  });
});
