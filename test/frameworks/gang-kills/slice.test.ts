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
// Forked ranks start several times faster, but a torchrun that forks has been seen not to end when its ranks had.
const common = { worlds: [2], launches: [LAUNCHES.programs], steps: 200, twins: new Twins(), clock: realClock, signal };

/** One of each kind that leaves something of its own behind. */
const blows = ['SIGKILL to a rank', 'SIGKILL to the supervisor', 'SIGTERM, and SIGKILL to all some time later', 'SIGKILL to all'];
let torchrun: string;

beforeAll(async () => {
  torchrun = await findTorchrun();
});

describe('a run under a real torchrun that is killed again and again', () => {
  it(`resumes from a good step every time, loses no more than the cadence and one save, and ends with the right weights (seed ${SEED})`, async () => {
    expect(Object.keys(BLOWS)).toEqual(expect.arrayContaining(blows));
    const tally = await strike({ ...common, torchrun, blows, count: blows.length, rng: createRng(SEED) });
    expect(tally.faults).toEqual([]);
    expect(tally.kills).toBe(blows.length);
    expect(tally.finished).toBeGreaterThan(0);
  });

  it('is ended, and a finding, when it does not come to its end', async () => {
    const over = new AbortController();
    const onRun = (): void => over.abort();
    const tally = await strike({ ...common, torchrun, count: 1, lifeMs: 1, signal: over.signal, onRun, rng: createRng(SEED) });
    expect(tally).toMatchObject({ kills: 0, faults: [expect.stringMatching(/^a life did not end within 1ms, 2 ranks, .*; what lived: /)] });
  });

  it('is found out when it forgets something of its state at a resume', async () => {
    const options = { ...common, torchrun, blows: ['SIGKILL to all'], count: 1, isSealedFirst: true, manner: ['forgetful'] };
    const tally = await strike({ ...options, rng: createRng(SEED) });
    expect(tally).toMatchObject({ kills: 1, faults: [expect.stringMatching(/^2 ranks: weights .*, and /)] });
  });
});
