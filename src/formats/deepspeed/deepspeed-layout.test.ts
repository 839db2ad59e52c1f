import { describe, expect, it } from 'vitest';
import { Findings } from '../reading/findings.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { checkExperts, checkLayers, checkRanks } from './deepspeed-layout.ts';
import { type DeepSpeedName, parseDeepSpeedName } from './deepspeed-names.ts';
import type { Place } from '../reading/numbering.ts';

/** What is reported about files of these names, as `CODE file`. */
function reported(names: readonly string[], check: (place: Place, files: readonly DeepSpeedName[]) => void): readonly string[] {
  const findings = new Findings();
  const directory = { pathOf: (name: string) => name } as Directory;
  check(
    { directory, findings },
    names.map(parseDeepSpeedName).filter((file) => file !== null),
  );
  return findings.evidence.map(({ code, file }) => `${code} ${file}`);
}

const optimizer = (dp: number, mp: number) => `zero_pp_rank_${dp}_mp_rank_0${mp}_optim_states.pt`;
const expert = (layer: number, number: number) => `layer_${layer}_expert_${number}_mp_rank_00_model_states.pt`;

describe('layout of a DeepSpeed tag', () => {
  it('needs every data-parallel rank of every model-parallel rank', () => {
    const names = [optimizer(0, 0), optimizer(1, 0), optimizer(0, 1)];
    expect(reported(names, (place, files) => checkRanks(place, files, { data: 2, model: 2 }))).toEqual([`FILE_MISSING ${optimizer(1, 1)}`]);
  });

  it('needs the files of a model-parallel rank even if none of them exists', () => {
    const names = [optimizer(0, 0), optimizer(1, 0)];
    expect(reported(names, (place, files) => checkRanks(place, files, { data: 2, model: 2 }))).toEqual([`FILE_MISSING ${optimizer(0, 1)}`]);
  });

  it('finds leftovers of a larger world in both directions', () => {
    const names = [optimizer(0, 0), optimizer(1, 0), optimizer(0, 1)];
    const found = reported(names, (place, files) => checkRanks(place, files, { data: 1, model: 1 }));
    expect(found).toEqual([`DEEPSPEED_LEFTOVER_RANK ${optimizer(1, 0)}`, `DEEPSPEED_LEFTOVER_RANK ${optimizer(0, 1)}`]);
  });

  it('needs the experts that the model says each layer has', () => {
    const names = [expert(0, 0), expert(0, 1), expert(1, 0)];
    const found = reported(names, (place, files) => checkExperts(place, files, 1, [2, 2, 2]));
    expect(found).toEqual([`FILE_MISSING ${expert(1, 1)}`, `FILE_MISSING ${expert(2, 0)}`]);
  });

  it('needs the pipeline layers that hold parameters, and no others', () => {
    const names = ['layer_00-model_states.pt', 'layer_02-model_states.pt', 'layer_04-model_states.pt'];
    expect(reported(names, (place, files) => checkLayers(place, files, new Set([0, 2, 3, 4])))).toEqual([
      'FILE_MISSING layer_03-model_states.pt',
    ]);
  });

  it('needs each pipeline layer for every tensor-parallel rank', () => {
    const names = ['layer_00-model_00-model_states.pt', 'layer_00-model_01-model_states.pt', 'layer_01-model_00-model_states.pt'];
    expect(reported(names, (place, files) => checkLayers(place, files, new Set([0, 1])))).toEqual([
      'FILE_MISSING layer_01-model_01-model_states.pt',
    ]);
  });

  it('only warns of skipped layers if nothing says which layers have parameters', () => {
    const names = ['layer_00-model_states.pt', 'layer_02-model_states.pt'];
    expect(reported(names, (place, files) => checkLayers(place, files, new Set()))).toEqual(['DEEPSPEED_LAYER_GAP null']);
  });
});
