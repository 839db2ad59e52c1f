import { existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { checksumFiles } from './checksum-files.ts';
import { removeTree } from './delete-tree.ts';
import { type DurableFs, fsBeneath } from './durable-fs.ts';

/** A run with a folder in its trash, and the same names outside of the run. */
function place() {
  const folder = tempFolder();
  const run = join(folder.path, 'run');
  const outside = join(folder.path, 'outside');
  for (const top of [join(run, 'trash/entry'), outside]) {
    mkdirSync(join(top, 'inner'), { recursive: true });
    for (const name of ['file', 'inner/file']) writeFileSync(join(top, name), 'bytes');
  }
  const exchange = (path: string): void => {
    renameSync(path, `${path}.moved`);
    symlinkSync(outside, path);
  };
  return { run, outside, exchange, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

/** The given file system, which calls `happens` right after the first listing. */
function afterListing(fs: DurableFs, happens: () => void): DurableFs {
  let isDone = false;
  return {
    ...fs,
    list(path) {
      const names = fs.list(path);
      if (!isDone) happens();
      isDone = true;
      return names;
    },
  };
}

it('removeTree deletes nothing outside the run when a link replaces a folder right after its listing', () => {
  using made = place();
  const entry = join(made.run, 'trash/entry');
  const fs = afterListing(fsBeneath(made.run), () => made.exchange(entry));
  expect(() => removeTree(fs, entry)).toThrow();
  expect([existsSync(join(made.outside, 'file')), existsSync(join(made.outside, 'inner/file'))]).toEqual([true, true]);
});

it('no operation on a run follows a link below its folder', () => {
  using made = place();
  const entry = join(made.run, 'trash/entry');
  made.exchange(entry);
  const fs = fsBeneath(made.run);
  const file = join(entry, 'inner/file');
  const operations: readonly (() => unknown)[] = [
    () => fs.mkdir(join(entry, 'new')),
    () => fs.writeFile(join(entry, 'new'), 'x'),
    () => fs.fsyncFile(file),
    () => fs.fsyncFolder(entry),
    () => fs.rename(file, join(made.run, 'stolen')),
    () => fs.rename(join(`${entry}.moved`, 'file'), join(entry, 'new')),
    () => fs.unlink(file),
    () => fs.rmdir(join(entry, 'inner')),
    () => fs.readFile(file),
    () => fs.list(entry),
    () => fs.stat(file),
  ];
  for (const operation of operations) expect(operation).toThrow(/ELOOP|ENOTDIR/);
});

it('checksumFiles reads no file behind a link in its path', async () => {
  using made = place();
  made.exchange(join(made.run, 'trash/entry/inner'));
  const { problems } = await checksumFiles(made.run, [{ path: 'trash/entry/inner/file', size: 5 }], { threads: 1 });
  expect(problems).toMatchObject([{ isUnreadable: true }]);
});

it('checksumFiles reads no file when a link has replaced the checkpoint itself', async () => {
  using made = place();
  made.exchange(join(made.run, 'trash/entry'));
  const { problems } = await checksumFiles(join(made.run, 'trash/entry'), [{ path: 'file', size: 5 }], { threads: 1, beneath: made.run });
  expect(problems).toMatchObject([{ isUnreadable: true }]);
});
