import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { constants } from 'node:fs';
import { expect, it } from 'vitest';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { openBeneath, openFolderBeneath, throughFolder } from './beneath.ts';

function place() {
  const folder = tempFolder();
  const root = join(folder.path, 'root');
  mkdirSync(join(root, 'a/b'), { recursive: true });
  mkdirSync(join(folder.path, 'outside/b'), { recursive: true });
  writeFileSync(join(root, 'a/b/file'), 'inside');
  writeFileSync(join(folder.path, 'outside/b/file'), 'outside');
  return { root, outside: join(folder.path, 'outside'), [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

it('openBeneath opens a file below its root, also where the root is reached through a link', () => {
  using made = place();
  symlinkSync(made.root, `${made.root}-link`);
  for (const root of [made.root, `${made.root}-link`, `${made.root}/`]) {
    expect(readFileSync(openBeneath(root, 'a/b/file', constants.O_RDONLY), 'utf8')).toBe('inside');
  }
});

it('openBeneath follows no component below its root, whether the link leads out of it or stays inside', () => {
  using made = place();
  symlinkSync(made.outside, join(made.root, 'out'));
  symlinkSync('a', join(made.root, 'in'));
  symlinkSync('file', join(made.root, 'a/b/link'));
  for (const path of ['out/b/file', 'in/b/file', 'a/b/link']) {
    expect(() => openBeneath(made.root, path, constants.O_RDONLY), path).toThrow(/ELOOP|ENOTDIR/);
  }
});

it('a held folder stays the same folder after its name leads somewhere else', () => {
  using made = place();
  const folder = openFolderBeneath(made.root, 'a');
  renameSync(join(made.root, 'a'), join(made.root, 'moved'));
  symlinkSync(made.outside, join(made.root, 'a'));
  expect(readFileSync(join(folder.at, 'b/file'), 'utf8')).toBe('inside');
  folder.close();
});

it('throughFolder names the requested path in its errors, not the handle', () => {
  using made = place();
  expect(() => throughFolder(made.root, 'a/missing', (real) => readdirSync(real))).toThrow(join(made.root, 'a/missing'));
});
