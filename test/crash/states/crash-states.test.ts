import { describe, expect, it } from 'vitest';
import { ORDERS } from '../model/order.ts';
import { tryStates } from './every-state.ts';
import { SCENARIOS } from './scenarios.ts';

describe.each(SCENARIOS)('a crash during $name', (scenario) => {
  it.each(ORDERS)('leaves the old checkpoint or the new one under %s order', async (order) => {
    const { faults, states } = await tryStates(scenario, order);
    expect(faults.slice(0, 3)).toEqual([]);
    expect(states).toBeGreaterThan(1);
  });
});
