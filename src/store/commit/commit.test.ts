import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { seal, stagedSave, testRun } from '../../../test/support/sealed-run.ts';
import { startAttempt } from '../attempt/attempt.ts';
import { commitSave } from './commit.ts';
import { type DurableFs, realFs } from '../disk/durable-fs.ts';
import { PART_BYTES, parseManifest, sha256 } from '../../seal/manifest.ts';
import { formatReceipt, RECEIPT_SCHEMA } from '../../seal/receipt.ts';
import { beginSave, writeReceipt } from './save.ts';
import { openRun, readRun } from '../folder/store.ts';

const failing = (change: Partial<DurableFs>): DurableFs => ({ ...realFs, ...change });
const systemError = (code: string) => Object.assign(new Error(code), { code });

describe('a save', () => {
  it('becomes a folder of the run that holds its unchanged files and one manifest', async () => {
    using run = testRun();
    const { path, manifest, name } = await seal(run.store, await startAttempt(run.store, { gang: 'g' }), { step: 200, worldSize: 3 });
    expect(name).toBe('step-200');
    expect(readdirSync(path)).toEqual(['holdfast.manifest.json', 'shard-0', 'shard-1', 'shard-2']);
    expect(readFileSync(join(path, 'shard-1'), 'utf8')).toBe('bytes of rank 1 at step 200');
    expect(parseManifest(readFileSync(join(path, 'holdfast.manifest.json'), 'utf8'))).toEqual({ ok: true, manifest });
    expect(manifest).toMatchObject({ attempt: 1, step: 200, worldSize: 3, run: run.store.run });
  });

  it('records the digest of every receipt in its manifest', async () => {
    using run = testRun();
    const save = await stagedSave(run.store, await startAttempt(run.store, { gang: 'g' }), { step: 1, worldSize: 2 });
    const digests = [0, 1].map((rank) => ({ rank, sha256: sha256(readFileSync(join(save.folder, 'receipts', `rank-${rank}.json`))) }));
    expect(commitSave(run.store, save).manifest.receipts).toEqual(digests);
  });

  it('is refused when the trainer has replaced its folder by a link, and writes nothing through the link', async () => {
    using run = testRun();
    const save = beginSave(run.store, await startAttempt(run.store, { gang: 'g' }), { step: 2, worldSize: 1 });
    const elsewhere = join(run.path, '.elsewhere');
    renameSync(save.data, elsewhere);
    writeFileSync(join(elsewhere, 'state'), 'bytes');
    symlinkSync(elsewhere, save.data);
    await expect(writeReceipt(run.store, save, { rank: 0 })).rejects.toMatchObject({ code: 'SAVE_INCOMPLETE' });
    expect(() => commitSave(run.store, save)).toThrow(expect.objectContaining({ code: 'SAVE_INCOMPLETE' }));
    expect([readdirSync(run.path), readdirSync(elsewhere)]).toEqual([['.elsewhere', '.holdfast'], ['state']]);
  });

  it('is refused when its folder becomes a link right before the rename', async () => {
    using run = testRun();
    const save = await stagedSave(run.store, await startAttempt(run.store, { gang: 'g' }), { step: 2 });
    const elsewhere = join(run.path, '.elsewhere');
    const store = openRun(run.path, {
      fs: failing({
        rename: (from, to) => {
          if (from === save.data && !existsSync(elsewhere)) {
            renameSync(from, elsewhere);
            symlinkSync(elsewhere, from);
          }
          realFs.rename(from, to);
        },
      }),
    });
    expect(() => commitSave(store, save)).toThrow(/was replaced by something else/);
    expect(readdirSync(run.path)).toEqual(['.elsewhere', '.holdfast']);
  });

  it('removes its staging folder', async () => {
    using run = testRun();
    await seal(run.store, await startAttempt(run.store, { gang: 'g' }), { step: 1 });
    expect(readdirSync(join(run.path, '.holdfast/attempts/1/staging'))).toEqual([]);
  });

  it('is refused when its manifest would exceed the size that Holdfast reads', async () => {
    using run = testRun();
    const attempt = await startAttempt(run.store, { gang: 'g' });
    await seal(run.store, attempt, { step: 1 });
    const staged = await stagedSave(run.store, attempt, { step: 2, worldSize: 2 });
    const { data, folder, ...identity } = staged;
    // Each receipt alone is small enough to read; the manifest of all of them is not.
    const crc32c = Array.from({ length: 950_000 }, () => '00000000');
    const size = crc32c.length * PART_BYTES;
    for (const rank of [0, 1]) {
      truncateSync(join(data, `shard-${rank}`), size);
      const files = [{ path: `shard-${rank}`, size, crc32c }];
      writeFileSync(join(folder, 'receipts', `rank-${rank}.json`), formatReceipt({ schema: RECEIPT_SCHEMA, ...identity, rank, files }));
    }
    expect(() => commitSave(run.store, staged)).toThrow(expect.objectContaining({ code: 'CHECKPOINT_NOT_SEALABLE' }));
    expect(readdirSync(run.path)).toEqual(['.holdfast', 'step-1']);
    expect(readdirSync(join(run.path, '.holdfast/attempts/1/staging'))).toEqual([]);
  });

  it('gets another name when its own is taken, and replaces no existing checkpoint', async () => {
    using run = testRun();
    mkdirSync(join(run.path, 'step-1'));
    writeFileSync(join(run.path, 'step-1', 'of somebody else'), '');
    writeFileSync(join(run.path, 'step-2'), 'a file');
    const attempt = await startAttempt(run.store, { gang: 'g' });
    expect((await seal(run.store, attempt, { step: 1 })).name).toBe('step-1-a1');
    expect((await seal(run.store, attempt, { step: 1 })).name).toBe('step-1-a1-2');
    expect((await seal(run.store, attempt, { step: 2 })).name).toBe('step-2-a1');
    expect(readdirSync(join(run.path, 'step-1'))).toEqual(['of somebody else']);
  });

  it('with files in subfolders is sealed with all of them', async () => {
    using run = testRun();
    const save = beginSave(run.store, await startAttempt(run.store, { gang: 'g' }), { step: 1, worldSize: 1 });
    mkdirSync(join(save.data, 'a/b'), { recursive: true });
    writeFileSync(join(save.data, 'a/b/c'), 'deep');
    writeFileSync(join(save.data, 'empty'), '');
    await writeReceipt(run.store, save, { rank: 0 });
    expect(commitSave(run.store, save).manifest.files.map(({ path, size }) => [path, size])).toEqual([
      ['a/b/c', 4],
      ['empty', 0],
    ]);
  });
});

describe('a save is refused and aborted', () => {
  const cases: readonly (readonly [string, 'SAVE_MIXED' | 'SAVE_INCOMPLETE', (folder: string) => void])[] = [
    ['a rank has left no receipt', 'SAVE_INCOMPLETE', (folder) => rewrite(folder, 1, () => null)],
    ['a receipt is of another save', 'SAVE_MIXED', (folder) => rewrite(folder, 1, (receipt) => ({ ...receipt, save: 'another' }))],
    ['a receipt is of another attempt', 'SAVE_MIXED', (folder) => rewrite(folder, 1, (receipt) => ({ ...receipt, attempt: 7 }))],
    ['a receipt is of another step', 'SAVE_MIXED', (folder) => rewrite(folder, 1, (receipt) => ({ ...receipt, step: 7 }))],
    ['a receipt is of another run', 'SAVE_MIXED', (folder) => rewrite(folder, 1, (receipt) => ({ ...receipt, run: 'x' }))],
    ['a receipt is of another world', 'SAVE_MIXED', (folder) => rewrite(folder, 1, (receipt) => ({ ...receipt, worldSize: 8 }))],
    ['a receipt is of another rank', 'SAVE_MIXED', (folder) => rewrite(folder, 1, (receipt) => ({ ...receipt, rank: 0 }))],
    ['a receipt is damaged', 'SAVE_INCOMPLETE', (folder) => appendFileSync(join(folder, 'receipts/rank-1.json'), '}')],
    ['two ranks name one file', 'SAVE_MIXED', (folder) => rewrite(folder, 1, (receipt) => ({ ...receipt, files: filesOf(folder, 0) }))],
    ['a file grew after its receipt', 'SAVE_MIXED', (folder) => appendFileSync(join(folder, 'data/shard-0'), 'x')],
    ['a file is there that nobody vouches for', 'SAVE_MIXED', (folder) => writeFileSync(join(folder, 'data/shard-9'), 'x')],
    ['a link is there', 'SAVE_MIXED', (folder) => symlinkSync('/etc/passwd', join(folder, 'data/link'))],
    ['a receipt of a larger world is there', 'SAVE_MIXED', (folder) => writeFileSync(join(folder, 'receipts/rank-2.json'), '{}')],
  ];
  it.each(cases)('when %s', async (_, code, damage) => {
    using run = testRun();
    const attempt = await startAttempt(run.store, { gang: 'g' });
    await seal(run.store, attempt, { step: 1 });
    const save = await stagedSave(run.store, attempt, { step: 2, worldSize: 2 });
    damage(save.folder);
    expect(() => commitSave(run.store, save)).toThrow(expect.objectContaining({ code }));
    expect(existsSync(save.folder)).toBe(false);
    expect(readdirSync(run.path)).toEqual(['.holdfast', 'step-1']);
  });

  it.each([
    ['ENOSPC', 'STORE_FULL'],
    ['EDQUOT', 'STORE_FULL'],
    ['EROFS', 'STORE_NOT_WRITABLE'],
    ['EACCES', 'STORE_NOT_WRITABLE'],
    ['EIO', 'STORE_FAILED'],
  ])('when the system says %s to any call of the commit', async (system, code) => {
    using run = testRun();
    const attempt = await startAttempt(run.store, { gang: 'g' });
    for (const call of ['writeFile', 'fsyncFile', 'fsyncFolder', 'rename'] as const) {
      const save = await stagedSave(run.store, attempt, { step: 1 });
      const fs = failing({
        [call]: () => {
          throw systemError(system);
        },
      });
      expect(() => commitSave({ ...run.store, fs }, save)).toThrow(expect.objectContaining({ code }));
      expect(existsSync(save.folder)).toBe(false);
      expect(readdirSync(run.path)).toEqual(['.holdfast']);
    }
  });

  it('never after its rename: the error reports the failed sync, and the checkpoint stays', async () => {
    using run = testRun();
    const save = await stagedSave(run.store, await startAttempt(run.store, { gang: 'g' }), { step: 1 });
    const fs = failing({
      fsyncFolder(path) {
        if (path === run.path) throw systemError('EIO');
      },
    });
    expect(() => commitSave({ ...run.store, fs }, save)).toThrow(/could not be made durable: EIO/);
    expect(readdirSync(join(run.path, 'step-1'))).toEqual(['holdfast.manifest.json', 'shard-0']);
  });

  it('when a sync fails while its receipt is written', async () => {
    using run = testRun();
    const attempt = await startAttempt(run.store, { gang: 'g' });
    const save = beginSave(run.store, attempt, { step: 1, worldSize: 1 });
    writeFileSync(join(save.data, 'x'), 'bytes');
    const synced: string[] = [];
    const fs = failing({
      fsyncFile: (path) => {
        synced.push(path);
        throw systemError('EIO');
      },
    });
    await expect(writeReceipt({ ...run.store, fs }, save, { rank: 0 })).rejects.toMatchObject({ code: 'STORE_FAILED' });
    // The save is never retried. Holdfast records the disk failure in another place, as far as it
    // can.
    expect(synced.filter((path) => path.startsWith(save.folder))).toEqual([join(save.data, 'x')]);
    expect(() => commitSave(run.store, save)).toThrow(expect.objectContaining({ code: 'SAVE_INCOMPLETE' }));
  });
});

describe('a run', () => {
  it('has one identity, no matter which process opens it first', () => {
    using run = testRun();
    expect(openRun(run.path).run).toBe(run.store.run);
    expect(readRun(run.path).run).toBe(run.store.run);
  });

  it('keeps the identity of its checkpoints when its .holdfast folder was deleted, and continues its attempt numbers', async () => {
    using run = testRun();
    await startAttempt(run.store, { gang: 'a' });
    await seal(run.store, await startAttempt(run.store, { gang: 'b' }), { step: 1 });
    const { rmSync } = await import('node:fs');
    rmSync(join(run.path, '.holdfast'), { recursive: true });
    const again = openRun(run.path);
    expect(again.run).toBe(run.store.run);
    expect(await startAttempt(again, { gang: 'c' })).toEqual({ attempt: 3, gang: 'c' });
  });

  it('is refused where the folder is a file or does not exist', () => {
    using run = testRun();
    writeFileSync(join(run.path, 'file'), '');
    expect(() => openRun(join(run.path, 'file'))).toThrow(expect.objectContaining({ code: 'PATH_NOT_SUPPORTED' }));
    expect(() => openRun(join(run.path, 'nowhere'))).toThrow(expect.objectContaining({ code: 'PATH_NOT_FOUND' }));
  });

  it('is refused when its identity cannot be read', () => {
    using run = testRun();
    for (const text of ['', '{', '[]', '{"schema":"holdfast.run/2","run":"x"}', '{"schema":"holdfast.run/1","run":7}']) {
      writeFileSync(join(run.path, '.holdfast/run.json'), text);
      expect(() => openRun(run.path)).toThrow(expect.objectContaining({ code: 'RUN_DAMAGED' }));
    }
  });
});

interface RawReceipt {
  readonly files: unknown;
}

function filesOf(folder: string, rank: number): unknown {
  return (JSON.parse(readFileSync(join(folder, `receipts/rank-${rank}.json`), 'utf8')) as RawReceipt).files;
}

function rewrite(folder: string, rank: number, change: (receipt: object) => object | null): void {
  const file = join(folder, `receipts/rank-${rank}.json`);
  const changed = change(JSON.parse(readFileSync(file, 'utf8')) as object);
  if (changed === null) realFs.unlink(file);
  else writeFileSync(file, JSON.stringify(changed));
}
