import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { assertRunnable } from './find-program.ts';

it.each([
  ['a link to itself', (path: string) => symlinkSync(path, path), 'COMMAND_NOT_EXECUTABLE'],
  ['a link that leads nowhere', (path: string) => symlinkSync('nowhere', path), 'COMMAND_NOT_FOUND'],
  ['a folder', (path: string) => mkdirSync(path), 'COMMAND_NOT_EXECUTABLE'],
  ['a file without permission to run it', (path: string) => writeFileSync(path, ''), 'COMMAND_NOT_EXECUTABLE'],
  ['nothing', () => {}, 'COMMAND_NOT_FOUND'],
])('a trainer whose path is %s is refused', (_, make, code) => {
  using folder = tempFolder();
  const path = join(folder.path, 'train');
  make(path);
  expect(() => assertRunnable([path])).toThrow(expect.objectContaining({ code }) as Error);
  expect(() => assertRunnable(['train'], folder.path)).toThrow(expect.objectContaining({ code }) as Error);
});
