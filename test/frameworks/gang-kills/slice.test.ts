import { beforeAll, describe, expect, it } from 'vitest';
import { realClock } from '../../../src/core/clock.ts';
import { createRng } from '../../../src/core/rng.ts';
import { findTorchrun } from '../support/torchrun.ts';
import { BLOWS } from './blows.ts';
import { strike } from './strike.ts';
import { LAUNCHES } from './struck-run.ts';
import { Twins } from './twins.ts';

const SEED = Number(process.env['HOLDFAST_SEED'] ?? 7);
const { signal } = new AbortController();
// Ranks start several times faster when torchrun forks them, but such a torchrun sometimes failed
// to end after its ranks.
const common = { worlds: [2], launches: [LAUNCHES.programs], steps: 200, twins: new Twins(), clock: realClock, signal };

/** One strike of each kind that leaves a state of its own behind. */
const blows = ['SIGKILL to a rank', 'SIGKILL to the supervisor', 'SIGTERM, and SIGKILL to all some time later', 'SIGKILL to all'];
let torchrun: string;

beforeAll(async () => {
  torchrun = await findTorchrun();
});

describe('a run under a real torchrun that is killed repeatedly', () => {
  it(`resumes from a good step every time, loses no more than the cadence and one save, and ends with the right weights (seed ${SEED})`, async () => {
    expect(Object.keys(BLOWS)).toEqual(expect.arrayContaining(blows));
    const tally = await strike({ ...common, torchrun, blows, count: blows.length, rng: createRng(SEED) });
    expect(tally.faults).toEqual([]);
    expect(tally.kills).toBe(blows.length);
    expect(tally.finished).toBeGreaterThan(0);
  });
});
