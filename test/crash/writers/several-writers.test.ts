import { describe, expect, it } from 'vitest';
import { createRng } from '../../../src/core/rng.ts';
import { runRounds } from './rounds.ts';

const SEED = 4;
/** `npm run crash:long` runs thousands. */
const ROUNDS = 60;

describe('several writers of one run', () => {
  it(`keep one history of last good, and no fenced attempt ever commits (seed ${SEED}, ${ROUNDS} rounds)`, async () => {
    const { faults, ...counts } = await runRounds(ROUNDS, createRng(SEED));
    expect(faults.slice(0, 5)).toEqual([]);
    // The rounds must have had enough kills, refusals and seals.
    expect(counts.kills).toBeGreaterThan(ROUNDS / 4);
    expect(counts.refused).toBeGreaterThan(ROUNDS / 20);
    expect(counts.sealed).toBeGreaterThan(ROUNDS / 2);
  });

  it('are detected if the start of an attempt does not fence', async () => {
    const { faults } = await runRounds(20, createRng(SEED), { isSabotaged: true });
    expect(faults.filter((fault) => fault.includes('had fenced it')).length).toBeGreaterThan(0);
  });
});
