import { describe, expect, it } from 'vitest';
import { simulate } from './simulation/simulate.ts';

const SEEDS = 1000;
const AT_ONCE = 50;

describe('the operator, in a simulated cluster where everything goes wrong', () => {
  it('plays the same seed in the same way', async () => {
    const [first, second] = [await simulate(7, { keepsLog: true }), await simulate(7, { keepsLog: true })];
    expect(first.log.length).toBeGreaterThan(50);
    expect(second).toEqual(first);
  });

  for (let from = 1; from <= SEEDS; from += AT_ONCE) {
    it(`keeps its promises in the seeds ${from} to ${from + AT_ONCE - 1}`, async () => {
      for (let seed = from; seed < from + AT_ONCE; seed++) {
        const { faults } = await simulate(seed);
        expect(faults, `replay it with: npm run simulate -- --seed=${seed}`).toEqual([]);
      }
    });
  }
});
