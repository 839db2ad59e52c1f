import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testRun } from '../../../test/support/sealed-run.ts';
import { startAttempt } from '../attempt/attempt.ts';
import { commitSave } from '../commit/commit.ts';
import { realFs } from './durable-fs.ts';
import { EarlyChecksums } from './early-checksums.ts';
import type { Manifest } from '../../seal/manifest.ts';
import { beginSave, writeReceipt } from '../commit/save.ts';
import { walkFiles } from './walk-files.ts';

describe('early checksums, taken during a save', () => {
  it('go into the receipt; changed and unannounced files are read again', async () => {
    const late = await sealed(() => undefined);
    const early = await sealed(async (checksums, data) => {
      const known: (string | undefined)[] = [];
      for (const name of ['a', 'b', 'deep/c', 'nothing-there', 'deep']) {
        checksums.add(name);
        known.push((await checksums.of(walkFiles(realFs, data).files)).findLast((file) => file !== null)?.path);
      }
      expect(known).toEqual(['a', 'b', 'deep/c', 'deep/c', 'deep/c']);
    });
    expect(early.files).toEqual(late.files);
  });

  it('are discarded for a file that was written to afterwards', async () => {
    using run = testRun();
    writeFileSync(join(run.path, 'a'), 'first');
    const checksums = new EarlyChecksums(realFs, run.path);
    checksums.add('a');
    const look = () => walkFiles(realFs, run.path).files.filter(({ path }) => path === 'a');
    expect(await checksums.of(look())).toMatchObject([{ path: 'a', size: 5 }]);
    appendFileSync(join(run.path, 'a'), ' second');
    expect(await checksums.of(look())).toEqual([null]);
  });

  it('fail the save when the disk fails, because a later sync may not report that', async () => {
    using run = testRun();
    writeFileSync(join(run.path, 'a'), 'bytes');
    // A large size in `stat`, and then no path to the file.
    const fs = { ...realFs, stat: () => ({ kind: 'file', size: 17 * 2 ** 20, mtimeMs: 0, device: 1, inode: 1 }) as const };
    const checksums = new EarlyChecksums(fs, run.path);
    checksums.add('a/b');
    await expect(checksums.of([])).rejects.toMatchObject({ code: 'ENOTDIR' });
  });

  it('are harmless when the file was deleted meanwhile, or the save was aborted', async () => {
    using run = testRun();
    const checksums = new EarlyChecksums(realFs, run.path);
    writeFileSync(join(run.path, 'a'), 'bytes');
    const found = walkFiles(realFs, run.path).files.filter(({ path }) => path === 'a');
    rmSync(join(run.path, 'a'));
    checksums.add('a');
    expect(await checksums.of(found)).toEqual([null]);
    await checksums.stop();
    writeFileSync(join(run.path, 'a'), 'bytes');
    checksums.add('a');
    expect(await checksums.of(found)).toEqual([null]);
  });
});

/**
 * Seals files, one of them large enough for an early write-back; a writer appends to one after
 * `meanwhile`.
 */
async function sealed(meanwhile: (checksums: EarlyChecksums, data: string) => Promise<void> | undefined): Promise<Manifest> {
  using run = testRun();
  const attempt = await startAttempt(run.store, { gang: 'g' });
  const save = beginSave(run.store, attempt, { step: 1, worldSize: 1 });
  mkdirSync(join(save.data, 'deep'));
  writeFileSync(join(save.data, 'a'), Buffer.alloc(17 * 2 ** 20, 'a'));
  writeFileSync(join(save.data, 'b'), 'b');
  writeFileSync(join(save.data, 'deep', 'c'), 'c');
  writeFileSync(join(save.data, 'told-to-nobody'), 'd');
  const early = new EarlyChecksums(run.store.fs, save.data);
  await meanwhile(early, save.data);
  appendFileSync(join(save.data, 'b'), ' and more');
  await writeReceipt(run.store, save, { rank: 0, early });
  return commitSave(run.store, save).manifest;
}
