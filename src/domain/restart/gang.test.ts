import { describe, expect, it } from 'vitest';
import { type GangWish, gangOf } from './gang.ts';

const UNSAID: GangWish = { gang: null, nodes: null, nodeRank: null };
const PYTORCHJOB = {
  PET_NNODES: '3',
  PET_NODE_RANK: '2',
  PET_NPROC_PER_NODE: '4',
  MASTER_ADDR: 'job-master-0',
  WORLD_SIZE: '12',
  RANK: '2',
};

describe('the nodes of a run', () => {
  it.each([
    ['nothing said', {}, {}, null],
    ['one node', { nodes: 1 }, PYTORCHJOB, null],
    ['the command line', { gang: 'g', nodes: 2, nodeRank: 1 }, PYTORCHJOB, { id: 'g', nodes: 2, nodeRank: 1 }],
    ['our own variables', {}, { HOLDFAST_NODES: '2', HOLDFAST_NODE_RANK: '0', HOLDFAST_GANG: 'g' }, { id: 'g', nodes: 2, nodeRank: 0 }],
    ['a PyTorchJob', {}, PYTORCHJOB, { id: 'job-master-0', nodes: 3, nodeRank: 2 }],
    ['a PyTorchJob that is elastic', {}, { ...PYTORCHJOB, PET_NNODES: '1:3' }, null],
    ['torchrun’s own', {}, { PET_NNODES: '2', PET_NODE_RANK: '0', PET_RDZV_ID: 'r' }, { id: 'r', nodes: 2, nodeRank: 0 }],
    ['ranks of an older operator', {}, { MASTER_ADDR: 'm', WORLD_SIZE: '2', RANK: '1' }, { id: 'm', nodes: 2, nodeRank: 1 }],
    ['ranks inside a launcher', {}, { MASTER_ADDR: 'm', WORLD_SIZE: '2', RANK: '1', LOCAL_RANK: '1' }, null],
    ['ranks of nobody knows whom', {}, { WORLD_SIZE: '2', RANK: '1' }, null],
    ['an indexed Job whose nodes are said', { nodes: 4 }, { JOB_COMPLETION_INDEX: '3' }, { id: 'run', nodes: 4, nodeRank: 3 }],
    ['an indexed Job alone', {}, { JOB_COMPLETION_INDEX: '3' }, null],
  ])('are read from %s', (_, wish, env, expected) => {
    expect(gangOf({ ...UNSAID, ...wish }, env)).toEqual({ ok: true, value: expected });
  });

  it.each([
    [{ nodes: 2 }, {}, /the rank of this node is unknown: give --node-rank, from 0 to 1/],
    [{ nodes: 2, nodeRank: 2 }, {}, /node rank 2 is not one of 0…1/],
    [{ nodes: 0, nodeRank: 0 }, {}, /node rank 0 is not one of/],
    [{ nodes: 2, nodeRank: 0, gang: 'x'.repeat(121) }, {}, /at most 120 characters, not 121/],
  ])('are refused when the settings make no sense: %o', (wish, env, reason) => {
    expect(gangOf({ ...UNSAID, ...wish }, env)).toMatchObject({ ok: false, reason: expect.stringMatching(reason) as string });
  });
});
