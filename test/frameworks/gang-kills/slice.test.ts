import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { realClock } from '../../../src/core/clock.ts';
import { createRng } from '../../../src/core/rng.ts';
import { familyOf, installFrameworks } from '../support/python.ts';
import { BLOWS } from './blows.ts';
import { strike, TRAINER } from './strike.ts';

const SEED = Number(process.env['HOLDFAST_SEED'] ?? 7);

/** One of each kind that leaves something of its own behind. */
const blows = ['SIGKILL to a rank', 'SIGKILL to the supervisor', 'SIGTERM, and SIGKILL to all some time later', 'SIGKILL to all'];
let torchrun: string;

beforeAll(async () => {
  const family = familyOf(TRAINER);
  torchrun = join(dirname((await installFrameworks([family])).get(family) ?? ''), 'torchrun');
});

describe('a run under a real torchrun that is killed again and again', () => {
  it(`resumes from a good step every time, loses no more than the cadence and one save, and ends with the right weights (seed ${SEED})`, async () => {
    expect(Object.keys(BLOWS)).toEqual(expect.arrayContaining(blows));
    const { signal } = new AbortController();
    const options = { torchrun, blows, count: blows.length, worlds: [2], steps: 400, rng: createRng(SEED), clock: realClock, signal };
    const tally = await strike(options);
    expect(tally.faults).toEqual([]);
    expect(tally.kills).toBe(blows.length);
    expect(tally.finished).toBeGreaterThan(0);
  });
});
