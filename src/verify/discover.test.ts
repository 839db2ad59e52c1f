import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { safetensorsFile } from '../../test/support/make-safetensors.ts';
import { tempFolder } from '../../test/support/temp-folder.ts';
import { discover } from './discover.ts';
import { newestFirst } from './newest.ts';
import { openTree } from '../bytes/source/tree.ts';

const WEIGHTS = safetensorsFile({ 'layer.weight': 8 });
const OPTIMIZER = safetensorsFile({ 'optimizer.exp_avg': 8 });

function unitsIn(files: Readonly<Record<string, Buffer | string>>): readonly { path: string; kind: string; files: readonly string[] }[] {
  using folder = tempFolder();
  for (const [name, bytes] of Object.entries(files)) {
    mkdirSync(join(folder.path, name, '..'), { recursive: true });
    writeFileSync(join(folder.path, name), bytes);
  }
  const { tree } = openTree(folder.path);
  try {
    return newestFirst(discover(tree.root).units).map((unit) => ({ path: unit.path, kind: unit.kind, files: [...unit.files().keys()] }));
  } finally {
    tree.close();
  }
}

describe('what is one checkpoint', () => {
  it('weights beside their optimizer are one', () => {
    const units = unitsIn({ 'model.safetensors': WEIGHTS, 'optimizer.safetensors': OPTIMIZER, 'README.md': 'hello' });
    expect(units).toEqual([{ path: 'model.safetensors', kind: 'group', files: ['model.safetensors', 'optimizer.safetensors'] }]);
  });

  it('files of different steps are separate, the newest first', () => {
    const files: Record<string, Buffer> = {};
    for (const step of [9, 10, 100]) {
      files[`model-${step}.safetensors`] = WEIGHTS;
      files[`optimizer-${step}.safetensors`] = OPTIMIZER;
    }
    expect(unitsIn(files).map(({ path }) => path)).toEqual(['model-100.safetensors', 'model-10.safetensors', 'model-9.safetensors']);
  });

  it('two files of weights are two checkpoints', () => {
    expect(unitsIn({ 'best.safetensors': WEIGHTS, 'last.safetensors': WEIGHTS })).toHaveLength(2);
  });

  it('a file whose name promises a format is judged even if its content is of no format', () => {
    expect(unitsIn({ 'model.safetensors': 'garbage' })).toEqual([
      { path: 'model.safetensors', kind: 'file', files: ['model.safetensors'] },
    ]);
  });

  it('a leftover of an interrupted save is not a checkpoint', () => {
    expect(unitsIn({ '.tmpAbC123': WEIGHTS, '7.orbax-checkpoint-tmp-1/x': 'y' })).toEqual([]);
  });

  it('folders are searched, and the files of one folder are named by that folder', () => {
    const units = unitsIn({ 'step-5/model.safetensors': WEIGHTS, 'step-5/optimizer.safetensors': OPTIMIZER });
    expect(units.map(({ path }) => path)).toEqual(['step-5']);
  });
});
