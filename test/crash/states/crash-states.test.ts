import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRng } from '../../../src/core/rng.ts';
import { ORDERS } from '../model/order.ts';
import { crashStates } from '../model/states.ts';
import { faultsInState } from './check-state.ts';
import { fastFolder, record } from './scenario.ts';
import { SCENARIOS } from './scenarios.ts';

describe.each(SCENARIOS)('a crash during $name', (scenario) => {
  it.each(ORDERS)('leaves the old checkpoint or the new one under %s order', async (order) => {
    using folder = fastFolder();
    const states = crashStates(await record(scenario), order, createRng(1));
    const faults: string[] = [];
    for (const [index, state] of states.entries()) {
      const found = await faultsInState(scenario, state, join(folder.path, String(index)));
      if (found.length > 0) faults.push(`after ${state.after}: ${found.join('; ')}`);
    }
    expect(faults.slice(0, 3)).toEqual([]);
    expect(states.length).toBeGreaterThan(1);
  });
});
