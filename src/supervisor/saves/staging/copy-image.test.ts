import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../../../../test/support/temp-folder.ts';
import { checksumFiles } from '../../../store/disk/checksum-files.ts';
import { realFs } from '../../../store/disk/durable-fs.ts';
import { PART_BYTES } from '../../../seal/manifest.ts';
import { walkFiles } from '../../../store/disk/walk-files.ts';
import { createRng } from '../../../core/rng.ts';
import { copyImage } from './copy-image.ts';

const still = { signal: new AbortController().signal, onBytes: () => {} };

function twoFolders(path: string): { readonly from: string; readonly to: string } {
  const [from, to] = [join(path, 'from'), join(path, 'to')];
  for (const folder of [from, to]) mkdirSync(folder, { recursive: true });
  return { from, to };
}

it('copying an image gives every file the checksums of its bytes', async () => {
  using folder = tempFolder();
  const { from, to } = twoFolders(folder.path);
  const rng = createRng(1);
  const sizes = { empty: 0, one: 1, 'deep/er/part': PART_BYTES, 'deep/more': PART_BYTES + 3, many: 3 * PART_BYTES - 1 };
  mkdirSync(join(from, 'deep/er'), { recursive: true });
  for (const [name, size] of Object.entries(sizes)) writeFileSync(join(from, name), Buffer.alloc(size, `${rng.next()}`));
  const told: number[] = [];
  const early = await copyImage(realFs, from, to, { ...still, onBytes: (done, total) => told.push(done / total) });
  const { files } = walkFiles(realFs, to);
  const again = await checksumFiles(to, files, { threads: 1 });
  expect(await early.of(files)).toEqual(again.files);
  expect(files.map(({ path }) => path).sort()).toEqual(Object.keys(sizes).sort());
  for (const name of Object.keys(sizes)) expect(readFileSync(join(to, name)).equals(readFileSync(join(from, name)))).toBe(true);
  expect(told).toEqual(told.toSorted((a, b) => a - b));
  expect(told.at(-1)).toBe(1);
});

it('copying an image gives no checksums for a copy that was changed afterwards', async () => {
  using folder = tempFolder();
  const { from, to } = twoFolders(folder.path);
  writeFileSync(join(from, 'state'), 'everything');
  const early = await copyImage(realFs, from, to, still);
  writeFileSync(join(to, 'state'), 'everything else');
  expect(await early.of(walkFiles(realFs, to).files)).toEqual([null]);
});

it('copying an image refuses a 4 TiB file that is one hole, before it writes anything', async () => {
  using folder = tempFolder();
  const { from, to } = twoFolders(folder.path);
  writeFileSync(join(from, 'state'), 'x');
  truncateSync(join(from, 'state'), 4 * 1024 ** 4);
  await expect(copyImage(realFs, from, to, still)).rejects.toMatchObject({
    code: 'CHECKPOINT_NOT_SEALABLE',
    message: expect.stringContaining('holes') as string,
  });
  expect(readdirSync(to)).toEqual([]);
});

it('copying an image accepts a file with a hole of a usual size', async () => {
  using folder = tempFolder();
  const { from, to } = twoFolders(folder.path);
  writeFileSync(join(from, 'state'), 'x');
  truncateSync(join(from, 'state'), 64 * 1024 ** 2);
  await copyImage(realFs, from, to, still);
  expect(statSync(join(to, 'state')).size).toBe(64 * 1024 ** 2);
});

it('copying an image follows no symbolic link', async () => {
  using folder = tempFolder();
  const { from, to } = twoFolders(folder.path);
  symlinkSync('/etc/hostname', join(from, 'state'));
  await expect(copyImage(realFs, from, to, still)).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_SEALABLE' });
});

it('copying an image can be aborted between two parts', async () => {
  using folder = tempFolder();
  const { from, to } = twoFolders(folder.path);
  writeFileSync(join(from, 'state'), Buffer.alloc(3 * PART_BYTES));
  const stop = new AbortController();
  const copy = copyImage(realFs, from, to, { signal: stop.signal, onBytes: () => stop.abort(new Error('no time left')) });
  await expect(copy).rejects.toThrow('no time left');
});

it('two images can be copied at the same time', async () => {
  using folder = tempFolder();
  const copies = ['a', 'b'].map((letter) => ({ letter, ...twoFolders(join(folder.path, letter)) }));
  const bytes = (letter: string): Buffer => Buffer.alloc(5 * PART_BYTES, letter);
  for (const { letter, from } of copies) writeFileSync(join(from, 'state'), bytes(letter));
  await Promise.all(copies.map(({ from, to }) => copyImage(realFs, from, to, still)));
  for (const { letter, to } of copies) expect(readFileSync(join(to, 'state')).equals(bytes(letter))).toBe(true);
});
