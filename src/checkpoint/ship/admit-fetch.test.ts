import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { testRun } from '../../../test/support/sealed-run.ts';
import { describeStorage } from '../storage/storage.ts';
import type { SealedFile } from '../store/manifest.ts';
import { admitFetch } from './admit-fetch.ts';

const SIZE = 1_000_000;
const BLOCK = 4096;
/** For the manifest and the folders, rounded up to blocks, and for the last block of every file. */
const MORE = 6 * BLOCK;
const FILES: readonly SealedFile[] = ['a', 'b'].map((path) => ({ path, size: SIZE, crc32c: [] }));

it('counts what is still to be received, and not what an earlier run has left', async () => {
  using run = testRun();
  const data = join(run.path, '.holdfast/fetching/x/data');
  mkdirSync(data, { recursive: true });
  const admitWith = (availableBytes: number): Promise<void> => {
    const storage = describeStorage(run.path);
    const space = { ...storage.space, availableBytes, blockBytes: BLOCK };
    const { signal } = new AbortController();
    return admitFetch(run.store, { files: FILES, data, signal, storageOf: () => ({ ...storage, space }) });
  };
  await admitWith(2 * SIZE + MORE);
  await expect(admitWith(2 * SIZE - 1)).rejects.toMatchObject({
    code: 'SAVE_DOES_NOT_FIT',
    message: expect.stringMatching(/^nothing was fetched into .*: the checkpoint needs /),
  });
  writeFileSync(join(data, 'a'), Buffer.alloc(SIZE, 'a'));
  await admitWith(SIZE + MORE);
  await expect(admitWith(SIZE - 1)).rejects.toThrow(/missing/);
});
