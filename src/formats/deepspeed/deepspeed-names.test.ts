import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DeepSpeedKind, deepSpeedName, parseDeepSpeedName } from './deepspeed-names.ts';

const NAMES: readonly (readonly [string, DeepSpeedKind])[] = [
  ['mp_rank_00_model_states.pt', 'model'],
  ['zero_pp_rank_3_mp_rank_01_model_states.pt', 'model-partition'],
  ['zero_pp_rank_11_mp_rank_00_optim_states.pt', 'optimizer'],
  ['bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt', 'optimizer'],
  ['layer_2_expert_5_mp_rank_00_model_states.pt', 'expert'],
  ['expert_5_mp_rank_00_model_states.pt', 'expert'],
  ['expp_rank_1_mp_rank_00_optim_states.pt', 'expert-optimizer'],
  ['layer_07-model_01-model_states.pt', 'layer'],
];

describe('names of DeepSpeed files', () => {
  it.each(NAMES)('reads %s as %s and writes it again', (name, kind) => {
    const parsed = parseDeepSpeedName(name);
    expect(parsed?.kind).toBe(kind);
    expect(parsed === null ? '' : deepSpeedName(parsed)).toBe(name);
  });

  it('reads the optimizer name of old versions, which lacks an underscore', () => {
    expect(parseDeepSpeedName('zero_pp_rank_1_mp_rank_00optim_states.pt')).toMatchObject({ kind: 'optimizer', dp: 1, mp: 0 });
  });

  it.each(['latest', 'mp_rank_00', 'mp_rank_00_model_states.pt.tmp', 'model_states.pt', 'zero_to_fp32.py'])('leaves %s alone', (name) => {
    expect(parseDeepSpeedName(name)).toBeNull();
  });

  it('gives back the ranks that were written into a name', () => {
    const rank = fc.nat(100_000);
    fc.assert(
      fc.property(rank, rank, (dp, mp) => {
        const name = deepSpeedName({ kind: 'optimizer', dp, mp, layer: null, expert: 0, precision: 'bf16_' });
        expect(parseDeepSpeedName(name)).toMatchObject({ dp, mp, precision: 'bf16_' });
      }),
    );
  });
});
