import { describe, expect, it } from 'vitest';
import { IS_WHOLE, sliceOfCommit } from '../../support/slice.ts';
import { ORDERS } from '../model/order.ts';
import { tryStates } from './every-state.ts';
import { SCENARIOS } from './scenarios.ts';

/**
 * A commit tests this many states of a long scenario, different from the next commit; `npm run
 * crash:long -- --part states` tests all.
 */
const LOOKED_AT = 150;

describe.each(SCENARIOS)('a crash during $name', (scenario) => {
  it.each(ORDERS)('leaves the old checkpoint or the new one under %s order', async (order) => {
    const { faults, states } = await tryStates(scenario, order, (all) => {
      const keys = sliceOfCommit(
        all.map(({ key }) => key),
        LOOKED_AT,
      );
      return all.filter(({ key }) => keys.has(key));
    });
    expect(faults.slice(0, 3)).toEqual([]);
    expect(states).toBeGreaterThan(1);
    if (!IS_WHOLE) expect(states).toBeLessThanOrEqual(LOOKED_AT);
  });
});
