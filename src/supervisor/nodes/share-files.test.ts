import { describe, expect, it } from 'vitest';
import { vouchingRank } from './share-files.ts';

describe('the rank that vouches for a file', () => {
  it.each([
    ['__3_0.distcp', 3],
    ['.metadata', 0],
    ['state.pt', 0],
    ['rng_state_2.pth', 2],
    ['rng-1.pt', 1],
    ['rank-3.json', 3],
    ['global_step5/zero_pp_rank_2_mp_rank_00_optim_states.pt', 0],
    ['sub/rank_1.bin', 1],
    ['rank-12.json', 0],
    ['frankfurt-3.bin', 0],
    ['step-3.pt', 0],
  ])('%s is rank %i of 4', (path, rank) => {
    expect(vouchingRank(path, 4)).toBe(rank);
  });
});
