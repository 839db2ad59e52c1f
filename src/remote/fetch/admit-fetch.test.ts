import { existsSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { testRun } from '../../../test/support/sealed-run.ts';
import { crc32c, hex32 } from '../../core/checksums.ts';
import { VirtualClock } from '../../core/clock.ts';
import { describeStorage, type Storage } from '../../volumes/storage.ts';
import type { SealedFile } from '../../seal/manifest.ts';
import { admitFetch } from './admit-fetch.ts';

const SIZE = 1_000_000;
const BLOCK = 4096;
/** Room for the manifest and the folders, in whole blocks, and for the last block of every file. */
const MORE = 6 * BLOCK;
const FILES: readonly SealedFile[] = ['a', 'b'].map((path) => ({ path, size: SIZE, crc32c: [] }));

it('admitFetch counts only the bytes that are still missing, not those of an earlier run', async () => {
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

it('admitFetch keeps the files that this save has received, at any age, and removes the leftovers of other dead processes', async () => {
  using run = testRun();
  const fetching = join(run.path, '.holdfast/fetching');
  const [own, other] = ['a', 'b'].map((digit) => join(fetching, digit.repeat(40), 'data')) as [string, string];
  for (const data of [own, other]) {
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'a'), Buffer.alloc(SIZE, 'a'));
  }
  const storage = describeStorage(run.path);
  const storageOf = (): Storage => ({ ...storage, space: { ...storage.space, availableBytes: 0 } });
  const clock = new VirtualClock(Date.now() + 48 * 60 * 60_000);
  const { signal } = new AbortController();
  await expect(admitFetch({ ...run.store, clock }, { files: FILES, data: own, signal, storageOf })).rejects.toThrow(/nothing was fetched/);
  expect([existsSync(join(own, 'a')), existsSync(other)]).toEqual([true, false]);
});

it('admitFetch reads the leftovers of an earlier run before it refuses, because a compressing file system stores them in fewer blocks', async () => {
  using run = testRun();
  const data = join(run.path, '.holdfast/fetching/x/data');
  mkdirSync(data, { recursive: true });
  const zeros = Buffer.alloc(SIZE);
  const file: SealedFile = { path: 'zeros', size: SIZE, crc32c: [hex32(crc32c(zeros))] };
  // Zeros that take no block at all.
  writeFileSync(join(data, 'zeros'), '');
  truncateSync(join(data, 'zeros'), SIZE);
  const storage = describeStorage(run.path);
  const storageOf = (): Storage => ({ ...storage, space: { ...storage.space, availableBytes: MORE, blockBytes: BLOCK } });
  const { signal } = new AbortController();
  await admitFetch(run.store, { files: [file], data, signal, storageOf });
  const another = { ...file, crc32c: ['00000000'] };
  await expect(admitFetch(run.store, { files: [another], data, signal, storageOf })).rejects.toThrow(/missing/);
  truncateSync(join(data, 'zeros'), SIZE - 1);
  await expect(admitFetch(run.store, { files: [file], data, signal, storageOf })).rejects.toThrow(/missing/);
});
