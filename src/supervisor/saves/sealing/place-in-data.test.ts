import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../../../../test/support/temp-folder.ts';
import { writeZip } from '../../../../test/support/zip-writer.ts';
import { lacksPlaceInData } from './place-in-data.ts';

const torchFile = (...keys: string[]): Buffer =>
  writeZip([
    { name: 'archive/data.pkl', data: Buffer.from(keys.join('\n')) },
    // The data holds a matching word by chance.
    { name: 'archive/data/0', data: Buffer.from('xx rng xx') },
  ]);

it.each<[string, Readonly<Record<string, Buffer>>, boolean]>([
  ['lacks a place in the data when it holds a model and an optimizer alone', { 'state.pt': torchFile('model', 'optimizer', 'step') }, true],
  ['has one when it names a random state', { 'state.pt': torchFile('model', 'rng_state') }, false],
  ['has one when it names a sampler', { 'state.pt': torchFile('model', 'sampler') }, false],
  ['has one when another of its files holds it', { 'state.pt': torchFile('model'), 'rank-0.pt': torchFile('random', 'loaders') }, false],
  ['is not judged when it is no torch file', { 'state.json': Buffer.from('{"sum": 1}') }, false],
])('a save %s', (_, files, lacks) => {
  using folder = tempFolder();
  for (const [name, data] of Object.entries(files)) writeFileSync(join(folder.path, name), data);
  const found = Object.keys(files).map((path) => ({ path }));
  expect(lacksPlaceInData(folder.path, found)).toBe(lacks);
});
