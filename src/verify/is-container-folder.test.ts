import { expect, it } from 'vitest';
import { isContainerFolder } from './is-container-folder.ts';
import type { CheckpointReport } from './report.ts';

type Case = readonly [folder: string, path: string, kind: CheckpointReport['kind'], step: number | null];

it.each<Case>([
  ['out/checkpoint-2', 'out/checkpoint-2', 'directory', 2],
  ['out/final', 'out/final/model.pt', 'file', 8],
  ['out/final', 'out/final/model_8.pt', 'group', 8],
  ['out/final', 'out/final/weights', 'directory', 8],
  ['out/step-8', 'out/step-8/state/dcp', 'directory', 8],
  ['out/step-8', 'out/step-8/state_8.pt', 'file', null],
  ['out/epoch_3', 'out/epoch_3/state.pt', 'file', 300],
])('the checkpoint is the folder %s itself when %s is found in it', (folder, path, kind, step) => {
  expect(isContainerFolder(folder, { path, kind, step })).toBe(false);
});

it.each<Case>([
  ['lr/lightning_logs', 'lr/lightning_logs/version_0/checkpoints/epoch=0-step=8.ckpt', 'file', 8],
  ['lr/version_0', 'lr/version_0/checkpoints/last.ckpt', 'file', 8],
  ['lr/checkpoints', 'lr/checkpoints/epoch=0-step=8.ckpt', 'file', 8],
  ['out/run', 'out/run/checkpoint-500', 'directory', 500],
  ['out/tf', 'out/tf/ckpt-300', 'set', 300],
  ['out/run-2', 'out/run-2/step-500', 'directory', 500],
])('the folder %s only leads to %s', (folder, path, kind, step) => {
  expect(isContainerFolder(folder, { path, kind, step })).toBe(true);
});
