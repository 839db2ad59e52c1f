import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { manifestsRead } from '../../../test/support/manifests-read.ts';
import { sealSteps, stagedSave, testRun } from '../../../test/support/sealed-run.ts';
import { describeStorage, type Storage } from '../storage/storage.ts';
import { admitNextSave } from './admit-next-save.ts';
import { startAttempt } from './attempt.ts';
import { commitSave } from './commit.ts';
import { processIdentity } from './process-identity.ts';

const KEEP_ONE = { last: 1, every: null, withinMs: null };
/** This process, as it marks its saves. */
const OWNER = processIdentity('boot-1');
const names = (path: string) => readdirSync(path).filter((name) => name !== '.holdfast');

/** The real storage with so much room that a checkpoint more fits for each that was deleted. */
function storageWithRoomFor(path: string, checkpoints: number, bytesEach: number): () => Storage {
  return () => {
    const storage = describeStorage(path);
    const room = (checkpoints - names(path).length) * bytesEach;
    return { ...storage, space: { ...storage.space, availableBytes: room, blockBytes: 1, freeInodes: 1e6 } };
  };
}

/** The real storage, full as long as something is there. */
function storageOnceGone(left: string): (path: string) => Storage {
  return (path) => {
    const storage = describeStorage(path);
    return { ...storage, space: { ...storage.space, availableBytes: existsSync(left) ? 10 : 1e6, blockBytes: 1, freeInodes: 1e6 } };
  };
}

describe('a save that is about to start', () => {
  it('is admitted where it fits, by the size of the last one', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    expect(await admitNextSave(run.store, { retention: null })).toMatchObject({ admission: { kind: 'fits' }, pruned: null });
    expect((await admitNextSave(run.store, { retention: null })).admission.demandBytes).toBeGreaterThan(0);
  });

  it('is refused with the numbers where nothing may be released; what is there stays', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    await expect(admitNextSave(run.store, { bytes: 1e18, retention: null })).rejects.toMatchObject({ code: 'SAVE_DOES_NOT_FIT' });
    await expect(admitNextSave(run.store, { bytes: 1e18, retention: KEEP_ONE })).rejects.toThrow(/needs .* are missing/);
    expect(names(run.path)).toEqual(['step-1', 'step-2']);
  });

  it('of a size that is told takes the room of what was left without reading a manifest', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2);
    const { fs, read } = manifestsRead();
    const wish = { bytes: 1e18, files: 1, retention: null };
    await expect(admitNextSave({ ...run.store, fs }, wish)).rejects.toMatchObject({ code: 'SAVE_DOES_NOT_FIT' });
    expect(read).toEqual([]);
  });

  it('releases what retention allows when that makes it fit', async () => {
    using run = testRun();
    await sealSteps(run.store, 'g', 1, 2, 3);
    const storageOf = storageWithRoomFor(run.path, 3, 1000);
    const { admission, pruned } = await admitNextSave(run.store, { bytes: 20, files: 1, retention: KEEP_ONE, storageOf });
    expect(admission.kind).toBe('fits');
    expect(pruned?.removed.map(({ name }) => name)).toEqual(['step-1', 'step-2']);
    expect(names(run.path)).toEqual(['step-3']);
  });

  it.each([null, KEEP_ONE])(
    'takes the room of what an older attempt had staged, under retention %j, before any checkpoint goes',
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

  it.skipIf(OWNER === null)(
    'takes the room of what a dead process of this attempt had staged, and spares what a living one writes',
    async () => {
      using run = testRun();
      const attempt = await sealSteps(run.store, 'g', 1);
      const living = await stagedSave(run.store, attempt, { step: 2 });
      // The number of this process, given to one that began at another time.
      const { folder } = await stagedSave({ ...run.store, owner: `${OWNER}0` }, attempt, { step: 3 });
      const next = { bytes: 1000, files: 1, retention: null, storageOf: storageOnceGone(folder) };
      expect((await admitNextSave(run.store, next)).admission.kind).toBe('fits');
      expect(commitSave(run.store, living).name).toBe('step-2');
    },
  );

  it('is refused also as the first of its run, where it was told how large it will be', async () => {
    using run = testRun();
    const { availableBytes } = describeStorage(run.path).space;
    expect(await admitNextSave(run.store, { retention: null })).toMatchObject({ admission: { kind: 'fits' } });
    const env = { HOLDFAST_SAVE_SIZE: `${2 * availableBytes}B` };
    await expect(admitNextSave(run.store, { env, retention: null })).rejects.toMatchObject({ code: 'SAVE_DOES_NOT_FIT' });
  });

  it('counts the eviction line as full', async () => {
    using run = testRun();
    const { availableBytes } = describeStorage(run.path).space;
    const env = { HOLDFAST_EVICTION_LINE: `${availableBytes}B` };
    await expect(admitNextSave(run.store, { bytes: 1e9, env, retention: null })).rejects.toThrow(/eviction line/);
  });
});
