import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inspectPath } from '../../../test/support/inspect.ts';
import { WHOLE } from '../../../test/support/fixtures.ts';
import { tempFolder } from '../../../test/support/temp-folder.ts';

function codesAfter(fixture: string, damage: (folder: string) => void): readonly string[] {
  using folder = tempFolder();
  cpSync(join(WHOLE, fixture), folder.path, { recursive: true });
  damage(folder.path);
  return inspectPath(folder.path).findings.evidence.map(({ code }) => code);
}

describe('a Keras training backup', () => {
  it.each([
    ['is clean when it is whole', () => {}, []],
    ['misses its weights', (folder: string) => rmSync(join(folder, 'latest.weights.h5')), ['FILE_MISSING']],
    ['misses the place in training', (folder: string) => rmSync(join(folder, 'training_metadata.json')), ['FILE_MISSING']],
    ['has an empty place in training', (folder: string) => writeFileSync(join(folder, 'training_metadata.json'), ''), ['DOCUMENT_INVALID']],
  ] as const)('%s', (_, damage, codes) => {
    expect(codesAfter('keras-backup/data/backup', damage)).toEqual(codes);
  });
});

describe('sharded Keras weights', () => {
  it.each([
    ['are clean when they are whole', () => {}, []],
    ['miss a shard', (folder: string) => rmSync(join(folder, 'step-100_00001.weights.h5')), ['FILE_MISSING']],
    ['miss their index', (folder: string) => rmSync(join(folder, 'step-100.weights.json')), ['FILE_MISSING']],
    ['have an empty index', (folder: string) => writeFileSync(join(folder, 'step-100.weights.json'), ''), ['DOCUMENT_INVALID']],
    [
      'have a shard too many',
      (folder: string) => cpSync(join(folder, 'step-100_00001.weights.h5'), join(folder, 'step-100_00002.weights.h5')),
      ['KERAS_SHARD_UNUSED'],
    ],
  ] as const)('%s', (_, damage, codes) => {
    expect(codesAfter('keras-sharded-weights/data', damage)).toEqual(codes);
  });
});
