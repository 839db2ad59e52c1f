import { describe, expect, it } from 'vitest';
import { sliceOfCommit } from '../../support/slice.ts';
import { ORDERS } from '../model/order.ts';
import { SABOTAGES } from './sabotages.ts';
import { recordRemote, type RemoteScenario } from './scenario.ts';
import { REMOTE_SCENARIOS } from './scenarios.ts';
import { cutsOfCopies, cutsOfNode, kills, type Remaining } from './try-remains.ts';

/** A commit starts nodes over this many states of a kind, different from the next commit. */
const STARTS = { kills: 8, copies: 4, node: 6 } as const;

/** Looks at every state, and starts nodes over some. */
async function faultsIn(states: readonly Remaining[], starts: number): Promise<readonly string[]> {
  const faults: string[] = [];
  const started = sliceOfCommit(states.keys().toArray().map(String), starts);
  for (const [index, { after, look, start }] of states.entries()) {
    const found = [...look(), ...(started.has(String(index)) ? await start() : [])];
    faults.push(...found.map((fault) => `after ${after}: ${fault}`));
  }
  return faults.slice(0, 5);
}

describe.each(Object.entries<RemoteScenario>(REMOTE_SCENARIOS))('%s', (name, scenario) => {
  it('loses no good copy and never moves the pointer back when the node is killed, or the copies or the node lose power', async () => {
    const recording = await recordRemote(scenario);
    const killed = kills(recording, scenario.isForeign);
    expect(killed.length).toBeGreaterThan(10);
    expect(await faultsIn(killed, STARTS.kills)).toEqual([]);
    for (const order of ORDERS) {
      const cut = cutsOfCopies(recording, order);
      expect(cut.length).toBeGreaterThan(5);
      expect(await faultsIn(cut, STARTS.copies)).toEqual([]);
    }
    if (name.includes('start')) expect(await faultsIn(cutsOfNode(recording, 'weakest'), STARTS.node)).toEqual([]);
  });
});

describe('the judge', () => {
  it.each(Object.entries(SABOTAGES))('finds out %s', async (_, { scenario, complaint, act, cut }) => {
    const played: RemoteScenario = REMOTE_SCENARIOS[scenario];
    const recording = await recordRemote(act === undefined ? played : { ...played, act });
    const states =
      cut === undefined
        ? kills(recording, played.isForeign)
        : (cut[0] === 'copies' ? cutsOfCopies : cutsOfNode)(recording, 'weakest', cut[1]);
    const faults = states.flatMap(({ look }) => look());
    expect(faults.filter((fault) => fault.includes(complaint))).not.toEqual([]);
  });
});
