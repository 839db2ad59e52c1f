import { mkdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { failedChecks } from '../../../test/support/failed-checks.ts';
import { alterFile, appendJunk, cutEnd, fixtureData, flipBit, withFixtureCopy, zeroFile } from '../../../test/support/fixture-copy.ts';
import { inspectPath } from '../../../test/support/inspect.ts';
import { Findings } from '../reading/findings.ts';
import { openTree } from '../../bytes/source/tree.ts';
import { probe } from '../recognise.ts';
import { tensorflow } from './tensorflow.ts';

const DATA = 'ckpt-100.data-00000-of-00001';
const INDEX = 'ckpt-100.index';

function inspectSet(path: string): Findings {
  const { tree } = openTree(dirname(path));
  const findings = new Findings();
  for (const set of tensorflow.claim(tree.root)) {
    if (set.members.includes(relative(dirname(path), path))) tensorflow.inspect(set, tree.root, findings, probe);
  }
  tree.close();
  return findings;
}

/** The codes found in a copy of a fixture after `damage`, and the checks that fail. */
function after(id: string, damage: (data: string) => void, path = INDEX): { codes: readonly string[]; failed: readonly string[] } {
  return withFixtureCopy(id, (data) => {
    damage(data);
    const findings = inspectSet(join(data, path));
    return { codes: [...new Set(findings.evidence.map(({ code }) => code))], failed: failedChecks(dirname(join(data, path)), findings) };
  });
}

describe('a whole TensorFlow checkpoint', () => {
  it.each([
    ['tf-checkpoint', INDEX, 100, { weights: true, optimizer: true, rng: true }],
    ['tf-slots', INDEX, 100, { weights: true, optimizer: true, rng: true }],
    ['tf-sharded', INDEX, 100, { weights: true, optimizer: true, rng: true }],
    ['tf-saver-sharded', 'model.ckpt-100.index', 100, { weights: true, optimizer: true, rng: false }],
    ['tf-weights', 'weights.index', null, { weights: true, optimizer: false, rng: false }],
  ])('%s has no evidence against it, shows its content, and has checksums over every byte', (id, path, step, content) => {
    const { format, findings } = inspectPath(join(fixtureData(id), path));
    expect(format).toBe('tensorflow');
    expect(findings.evidence).toEqual([]);
    const { weights, optimizer, rng, scheduler } = findings.content.found;
    expect({ weights: weights.length > 0, optimizer: optimizer.length > 0, rng: rng.length > 0 }).toEqual(content);
    expect(scheduler).toEqual([]);
    expect(findings.content.steps.map((seen) => seen.step)).toEqual(step === null ? [] : [step]);
    expect(findings.checks.reduce((sum, check) => sum + check.payloadBytes, 0)).toBe(findings.payloadBytes);
    expect(failedChecks(fixtureData(id), findings)).toEqual([]);
  });

  it('is one of several in the folder of a run', () => {
    const { tree } = openTree(join(fixtureData('tf-manager'), 'run'));
    const names = tensorflow.claim(tree.root).map(({ name }) => name);
    tree.close();
    expect(names.sort()).toEqual(['ckpt-100', 'ckpt-200', 'ckpt-300']);
  });

  it('takes the step from the trainer, not from the number of saves', () => {
    const { findings } = inspectPath(join(fixtureData('tf-manager'), 'run', 'ckpt-300.index'));
    expect(findings.content.steps).toEqual([{ step: 300, file: 'ckpt-300.data-00000-of-00001', where: 'step' }]);
  });
});

describe('a damaged TensorFlow checkpoint', () => {
  it.each([
    ['a data file cut in half', (data: string) => truncateSync(join(data, DATA), 3882), 'TENSORFLOW_SHARD_CUT'],
    ['a data file without its last byte', (data: string) => cutEnd(join(data, DATA), 1), 'TENSORFLOW_SHARD_CUT'],
    ['an empty data file', (data: string) => truncateSync(join(data, DATA), 0), 'TENSORFLOW_SHARD_CUT'],
    ['a data file of zeros', (data: string) => zeroFile(join(data, DATA)), 'FILE_ALL_ZERO'],
    ['a data file with junk at its end', (data: string) => appendJunk(join(data, DATA)), 'TENSORFLOW_SHARD_TRAILING'],
    ['no data file', (data: string) => rmSync(join(data, DATA)), 'FILE_MISSING'],
    ['an index cut in half', (data: string) => truncateSync(join(data, INDEX), 467), 'TENSORFLOW_INDEX_CUT'],
    ['an index without its last byte', (data: string) => cutEnd(join(data, INDEX), 1), 'TENSORFLOW_INDEX_CUT'],
    ['an empty index', (data: string) => truncateSync(join(data, INDEX), 0), 'TENSORFLOW_INDEX_CUT'],
    ['an index of zeros', (data: string) => zeroFile(join(data, INDEX)), 'TENSORFLOW_INDEX_CUT'],
    ['an index with junk at its end', (data: string) => appendJunk(join(data, INDEX)), 'TENSORFLOW_INDEX_TRAILING'],
    ['a flipped bit in the index', (data: string) => flipBit(join(data, INDEX), 200), 'TENSORFLOW_INDEX_CORRUPT'],
  ])('is detected by its structure alone: %s', (_fault, damage, code) => {
    expect(after('tf-checkpoint', damage).codes).toContain(code);
  });

  it('is detected by the missing index when only data files exist', () => {
    expect(after('tf-checkpoint', (data) => rmSync(join(data, INDEX)), DATA).codes).toEqual(['FILE_MISSING']);
  });

  it('is detected by one missing shard of several', () => {
    expect(after('tf-sharded', (data) => rmSync(join(data, 'ckpt-100.data-00001-of-00003'))).codes).toEqual(['FILE_MISSING']);
  });

  it('is a zombie when data files of a save with another number of shards lie beside it', () => {
    const { codes } = after('tf-sharded', (data) => writeFileSync(join(data, 'ckpt-100.data-00003-of-00004'), 'left'));
    expect(codes).toEqual(['TENSORFLOW_SHARD_COUNT']);
  });

  it('fails the checksum of the tensor whose bit was flipped, and of no other', () => {
    const { codes, failed } = after('tf-checkpoint', (data) => flipBit(join(data, DATA), 40));
    expect(codes).toEqual([]);
    expect(failed).toHaveLength(1);
  });

  it('fails the checksum of every place whose bit is flipped', () => {
    withFixtureCopy('tf-checkpoint', (data) => {
      const size = readFileSync(join(data, DATA)).length;
      for (let offset = 0; offset < size; offset += 97) {
        flipBit(join(data, DATA), offset);
        const { findings } = inspectPath(join(data, INDEX));
        expect([...findings.evidence, ...failedChecks(data, findings)], `offset ${offset}`).toHaveLength(1);
        flipBit(join(data, DATA), offset);
      }
    });
  });

  it('fails checksums when a shard is of another step', () => {
    const run = join(fixtureData('tf-manager'), 'run');
    const { failed } = after(
      'tf-manager',
      (data) => alterFile(join(data, 'run', 'ckpt-300.data-00000-of-00001'), () => readFileSync(join(run, 'ckpt-200.data-00000-of-00001'))),
      'run/ckpt-300.index',
    );
    expect(failed.length).toBeGreaterThan(0);
  });

  it('is not affected by a temporary file of an interrupted save', () => {
    const { codes } = after('tf-checkpoint', (data) => {
      mkdirSync(join(data, 'ckpt-200_temp'));
      writeFileSync(join(data, `${INDEX}.tempstate1234`), 'half');
    });
    expect(codes).toEqual(['TEMP_LEFTOVER']);
  });

  it('is partial in the folder where TensorFlow keeps a save until it is finished', () => {
    withFixtureCopy('tf-checkpoint', (data) => {
      mkdirSync(join(data, 'ckpt-200_temp'));
      renameSync(join(data, INDEX), join(data, 'ckpt-200_temp', 'part-00000-of-00001.index'));
      renameSync(join(data, DATA), join(data, 'ckpt-200_temp', 'part-00000-of-00001.data-00000-of-00001'));
      const { evidence } = inspectSet(join(data, 'ckpt-200_temp', 'part-00000-of-00001.index'));
      expect(evidence.map(({ code, effect }) => [code, effect])).toEqual([['TENSORFLOW_UNFINISHED', 'partial']]);
    });
  });

  it('leaves alone a file that merely ends in .index', () => {
    withFixtureCopy('tf-checkpoint', (data) => {
      renameSync(join(data, INDEX), join(data, 'other.index'));
      writeFileSync(join(data, 'search.index'), 'not a table');
      rmSync(join(data, DATA));
      const { tree } = openTree(data);
      const names = tensorflow.claim(tree.root).map(({ name }) => name);
      tree.close();
      expect(names).toEqual(['other']);
    });
  });
});
