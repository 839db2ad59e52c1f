import { mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sealSteps, testRun } from '../../../test/support/sealed-run.ts';
import { MEMORY, tempFolder } from '../../../test/support/temp-folder.ts';
import { scan } from '../../store/folder/scan.ts';
import { readSeal } from './upload-source.ts';

it.each([
  ['its folder is gone', () => {}],
  ['a link to its folder stands in its place', (path: string, away: string) => symlinkSync(away, path)],
  ['an empty folder stands in its place', (path: string) => mkdirSync(path)],
  ['its manifest is a folder', (path: string) => mkdirSync(join(path, 'holdfast.manifest.json'), { recursive: true })],
  [
    'its manifest is a link',
    (path: string, away: string) => {
      mkdirSync(path);
      symlinkSync(join(away, 'holdfast.manifest.json'), join(path, 'holdfast.manifest.json'));
    },
  ],
] as const)('the seal of a checkpoint is not shipped when, since it was found, %s', async (_, replace) => {
  using run = testRun();
  using elsewhere = tempFolder(MEMORY);
  await sealSteps(run.store, 'a', 1);
  const [found] = scan(run.store).sealed;
  if (found === undefined) throw new Error('nothing is sealed');
  expect(readSeal(run.store, found).length).toBeGreaterThan(0);
  const away = join(elsewhere.path, 'away');
  renameSync(found.path, away);
  replace(found.path, away);
  expect(() => readSeal(run.store, found)).toThrow(expect.objectContaining({ code: 'SOURCE_CHANGED' }));
});
