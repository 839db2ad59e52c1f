import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { checksumFiles } from '../../checkpoint/store/checksum-files.ts';
import { realFs } from '../../checkpoint/store/durable-fs.ts';
import { PART_BYTES } from '../../checkpoint/store/manifest.ts';
import { walkFiles } from '../../checkpoint/store/walk-files.ts';
import { createRng } from '../../core/rng.ts';
import { copyImage } from './copy-image.ts';

const still = { signal: new AbortController().signal, onBytes: () => {} };

function twoFolders(path: string): { readonly from: string; readonly to: string } {
  const [from, to] = [join(path, 'from'), join(path, 'to')];
  for (const folder of [from, to]) mkdirSync(folder, { recursive: true });
  return { from, to };
}

it('copies every file with the checksums that reading it again would give', async () => {
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

it('does not vouch for a copy that was changed after it was made', async () => {
  using folder = tempFolder();
  const { from, to } = twoFolders(folder.path);
  writeFileSync(join(from, 'state'), 'everything');
  const early = await copyImage(realFs, from, to, still);
  writeFileSync(join(to, 'state'), 'everything else');
  expect(await early.of(walkFiles(realFs, to).files)).toEqual([null]);
});

it('follows no link', async () => {
  using folder = tempFolder();
  const { from, to } = twoFolders(folder.path);
  symlinkSync('/etc/hostname', join(from, 'state'));
  await expect(copyImage(realFs, from, to, still)).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_SEALABLE' });
});

it('can be given up between two parts', async () => {
  using folder = tempFolder();
  const { from, to } = twoFolders(folder.path);
  writeFileSync(join(from, 'state'), Buffer.alloc(3 * PART_BYTES));
  const stop = new AbortController();
  const copy = copyImage(realFs, from, to, { signal: stop.signal, onBytes: () => stop.abort(new Error('no time left')) });
  await expect(copy).rejects.toThrow('no time left');
});

it('two at once do not get into each other’s way', async () => {
  using folder = tempFolder();
  const copies = ['a', 'b'].map((letter) => ({ letter, ...twoFolders(join(folder.path, letter)) }));
  const bytes = (letter: string): Buffer => Buffer.alloc(5 * PART_BYTES, letter);
  for (const { letter, from } of copies) writeFileSync(join(from, 'state'), bytes(letter));
  await Promise.all(copies.map(({ from, to }) => copyImage(realFs, from, to, still)));
  for (const { letter, to } of copies) expect(readFileSync(join(to, 'state')).equals(bytes(letter))).toBe(true);
});
