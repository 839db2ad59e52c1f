import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { manifestsRead } from '../../../test/support/manifests-read.ts';
import { sealSteps, stagedSave, testRun } from '../../../test/support/sealed-run.ts';
import { describeStorage, type Storage } from '../../volumes/storage.ts';
import { admitNextSave } from './admit-next-save.ts';
import { startAttempt } from '../attempt/attempt.ts';
import { commitSave } from '../commit/commit.ts';
import { processIdentity } from '../disk/process-identity.ts';

const KEEP_ONE = { last: 1, every: null, withinMs: null };
/** The mark that this process puts on its saves. */
const OWNER = processIdentity('boot-1');
const names = (path: string) => readdirSync(path).filter((name) => name !== '.holdfast');

/** The real storage, with room for one more checkpoint for each deleted one. */
function storageWithRoomFor(path: string, checkpoints: number, bytesEach: number): () => Storage {
  return () => {
    const storage = describeStorage(path);
    const room = (checkpoints - names(path).length) * bytesEach;
    return { ...storage, space: { ...storage.space, availableBytes: room, blockBytes: 1, freeInodes: 1e6 } };
  };
}

/** The real storage, full as long as `path` exists. */
function storageOnceGone(left: string): (path: string) => Storage {
  return (path) => {
    const storage = describeStorage(path);
    return { ...storage, space: { ...storage.space, availableBytes: existsSync(left) ? 10 : 1e6, blockBytes: 1, freeInodes: 1e6 } };
  };
}

describe('a save that is about to start', () => {
  it('is admitted when the size of the last save fits', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    expect(await admitNextSave(run.store, { retention: null })).toMatchObject({ admission: { kind: 'fits' }, pruned: null });
    expect((await admitNextSave(run.store, { retention: null })).admission.demandBytes).toBeGreaterThan(0);
  });

  it('is refused with the numbers when nothing may be deleted, and every checkpoint stays', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    await expect(admitNextSave(run.store, { bytes: 1e18, retention: null })).rejects.toMatchObject({ code: 'SAVE_DOES_NOT_FIT' });
    await expect(admitNextSave(run.store, { bytes: 1e18, retention: KEEP_ONE })).rejects.toThrow(/needs .* are missing/);
    expect(names(run.path)).toEqual(['step-1', 'step-2']);
  });

  it('uses the room of leftovers without reading a manifest when its size is given', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const { fs, read } = manifestsRead();
    const wish = { bytes: 1e18, files: 1, retention: null };
    await expect(admitNextSave({ ...run.store, fs }, wish)).rejects.toMatchObject({ code: 'SAVE_DOES_NOT_FIT' });
    expect(read).toEqual([]);
  });

  it('deletes what retention allows when that makes it fit', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    const storageOf = storageWithRoomFor(run.path, 3, 1000);
    const { admission, pruned } = await admitNextSave(run.store, { bytes: 20, files: 1, retention: KEEP_ONE, storageOf });
    expect(admission.kind).toBe('fits');
    expect(pruned?.removed.map(({ name }) => name)).toEqual(['step-1', 'step-2']);
    expect(names(run.path)).toEqual(['step-3']);
  });

  it.each([null, KEEP_ONE])(
    'uses the room of an older attempt’s staging before that of any checkpoint, under retention %j',
    async (retention) => {
      using run = testRun();
      const attempt = await sealSteps(run.store, 'g', 1, 2);
      await stagedSave(run.store, attempt, { step: 3 });
      await startAttempt(run.store, { gang: 'the next one' });
      const staged = join(run.path, '.holdfast/fenced/1');
      expect(readdirSync(staged)).toHaveLength(1);
      const storageOf = storageOnceGone(staged);
      const { admission, pruned } = await admitNextSave(run.store, { bytes: 1000, files: 1, retention, storageOf });
      expect([admission.kind, pruned, names(run.path)]).toEqual(['fits', null, ['step-1', 'step-2']]);
    },
  );

  it.skipIf(OWNER === null)('uses the room that a dead process staged in its attempt, not a living one’s room', async () => {
    using run = testRun();
    const attempt = await sealSteps(run.store, 'g', 1);
    const living = await stagedSave(run.store, attempt, { step: 2 });
    // The pid of this process, with another start time.
    const { folder } = await stagedSave({ ...run.store, owner: `${OWNER}0` }, attempt, { step: 3 });
    const next = { bytes: 1000, files: 1, retention: null, storageOf: storageOnceGone(folder) };
    expect((await admitNextSave(run.store, next)).admission.kind).toBe('fits');
    expect(commitSave(run.store, living).name).toBe('step-2');
  });

  it('is refused also as the first of its run, when its given size does not fit', async () => {
    using run = testRun();
    const { availableBytes } = describeStorage(run.path).space;
    expect(await admitNextSave(run.store, { retention: null })).toMatchObject({ admission: { kind: 'fits' } });
    const env = { HOLDFAST_SAVE_SIZE: `${2 * availableBytes}B` };
    await expect(admitNextSave(run.store, { env, retention: null })).rejects.toMatchObject({ code: 'SAVE_DOES_NOT_FIT' });
  });

  it('treats a volume at the eviction line as full', async () => {
    using run = testRun();
    const { availableBytes } = describeStorage(run.path).space;
    const env = { HOLDFAST_EVICTION_LINE: `${availableBytes}B` };
    await expect(admitNextSave(run.store, { bytes: 1e9, env, retention: null })).rejects.toThrow(/eviction line/);
  });
});
