import { describe, expect, it } from 'vitest';
import { createRng } from '../../../src/core/rng.ts';
import { runRounds, type Tally } from './rounds.ts';

const SEED = 4;
/** `npm run crash:long` runs thousands. */
const ROUNDS = 60;
/** Processes that wait for a busy machine meet each other less often, so they get more rounds. */
const MOST_ROUNDS = 8 * ROUNDS;

const hadEnough = ({ kills, refused, sealed }: Tally): boolean => kills > ROUNDS / 4 && refused > ROUNDS / 20 && sealed > ROUNDS / 2;

describe('several writers of one run', () => {
  it(`keep one history of last good, and no fenced attempt ever commits (seed ${SEED}, ${ROUNDS} rounds or more)`, async () => {
    const rng = createRng(SEED);
    const tally = await runRounds(ROUNDS, rng);
    for (let extra = 1; !hadEnough(tally) && tally.rounds < MOST_ROUNDS; extra++)
      await runRounds(ROUNDS, rng.fork(`extra ${extra}`), { tally });
    expect(tally.faults.slice(0, 5)).toEqual([]);
    expect(tally, 'the kills, refusals and seals that were met').toSatisfy(hadEnough);
  });

  it('are detected if the start of an attempt does not fence', async () => {
    const rng = createRng(SEED);
    const tally = await runRounds(20, rng, { isSabotaged: true });
    const isDetected = ({ faults }: Tally): boolean => faults.some((fault) => fault.includes('had fenced it'));
    for (let extra = 1; !isDetected(tally) && tally.rounds < MOST_ROUNDS; extra++)
      await runRounds(20, rng.fork(`extra ${extra}`), { isSabotaged: true, tally });
    expect(tally).toSatisfy(isDetected);
  });
});
