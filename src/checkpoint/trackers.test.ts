import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { Findings } from './findings.ts';
import { openTree } from './source/tree.ts';
import { readTrackers, reportTracker } from './trackers.ts';

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
