import { cpSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { WHOLE } from '../../../test/support/fixtures.ts';
import { tempFolder } from '../../../test/support/temp-folder.ts';
import { Findings } from './findings.ts';
import { discover } from '../../verify/discover.ts';
import { openTree } from '../../bytes/source/tree.ts';
import { readTrackers, reportTracker, reportUntracked } from './trackers.ts';

it.each([
  ['an empty Megatron tracker', 'latest_checkpointed_iteration.txt', '', ['TRACKER_EMPTY']],
  ['a garbled Megatron tracker', 'latest_checkpointed_iteration.txt', '12x', ['TRACKER_EMPTY']],
  ['a Megatron tracker of a step that is there', 'latest_checkpointed_iteration.txt', '100\n', []],
  ['a Megatron tracker of a step that is not there', 'latest_checkpointed_iteration.txt', '200', ['TRACKER_TARGET_MISSING']],
  ['a DeepSpeed tag that is there', 'latest', 'global_step100', []],
  ['a DeepSpeed tag that is not there', 'latest', 'global_step200', ['TRACKER_TARGET_MISSING']],
  ['a DeepSpeed tag that climbs out of the folder', 'latest', '../../etc', ['TRACKER_EMPTY']],
  ['a TensorFlow state that names a checkpoint that is there', 'checkpoint', 'model_checkpoint_path: "ckpt-3"\n', []],
  [
    'a TensorFlow state that names one that is not there',
    'checkpoint',
    'model_checkpoint_path: "/old/place/ckpt-4"\n',
    ['TRACKER_TARGET_MISSING'],
  ],
  ['a file that only happens to be called checkpoint', 'checkpoint', 'some notes', []],
] as const)('%s', (_, file, text, codes) => {
  using folder = tempFolder();
  mkdirSync(join(folder.path, 'iter_0000100'));
  mkdirSync(join(folder.path, 'global_step100'));
  writeFileSync(join(folder.path, 'ckpt-3.index'), '');
  writeFileSync(join(folder.path, file), text);
  const { tree } = openTree(folder.path);
  const findings = new Findings();
  for (const tracker of readTrackers(tree.root)) reportTracker(tracker, findings);
  tree.close();
  expect(findings.evidence.map(({ code }) => code)).toEqual(codes);
});

describe('a run in which nothing names the newest checkpoint', () => {
  function untracked(fixture: string, change: (run: string) => void, below = ''): readonly (string | null)[] {
    using folder = tempFolder();
    const run = join(folder.path, 'run');
    cpSync(join(WHOLE, fixture, 'data/run'), run, { recursive: true });
    change(run);
    const { tree } = openTree(join(folder.path, below));
    const findings = new Findings();
    reportUntracked(tree.root, discover(tree.root).units, findings);
    tree.close();
    return findings.evidence.map(({ code, file }) => `${code} ${file}`);
  }

  it.each([
    ['deepspeed-zero2', 'latest'],
    ['megatron-dist', 'latest_checkpointed_iteration.txt'],
    ['megatron-legacy', 'latest_checkpointed_iteration.txt'],
  ])('is reported once where a loader would look for its name (%s)', (fixture, name) => {
    const forget = (run: string): void => rmSync(join(run, name));
    expect(untracked(fixture, () => {})).toEqual([]);
    expect(untracked(fixture, forget)).toEqual([`TRACKER_MISSING run/${name}`]);
    expect(untracked(fixture, forget, 'run')).toEqual([`TRACKER_MISSING ${name}`]);
  });

  it('is reported once for many checkpoints in one folder', () => {
    const forget = (run: string): void => {
      rmSync(join(run, 'latest'));
      cpSync(join(run, 'global_step4'), join(run, 'global_step8'), { recursive: true });
    };
    expect(untracked('deepspeed-zero2', forget)).toEqual(['TRACKER_MISSING run/latest']);
  });

  it('is not reported when verify reads one checkpoint alone, or something else', () => {
    const forget = (run: string): void => rmSync(join(run, 'latest'));
    expect(untracked('deepspeed-zero2', forget, 'run/global_step4')).toEqual([]);
    expect(untracked('deepspeed-zero2', (run) => writeFileSync(join(run, 'latest'), ''))).toEqual([]);
  });

  it('is not reported for checkpoints in a format of Megatron under names of another tool', () => {
    const rename = (run: string): void => {
      rmSync(join(run, 'latest_checkpointed_iteration.txt'));
      for (const name of readdirSync(run)) if (name.startsWith('iter_')) renameSync(join(run, name), join(run, 'weights'));
    };
    expect(untracked('megatron-dist', rename)).toEqual([]);
  });
});
