import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readdirSync, readFileSync } from 'node:fs';
import { lastGood } from '../../src/store/resume/last-good.ts';
import { readRun } from '../../src/store/folder/store.ts';
import { createRng, type Rng } from '../../src/core/rng.ts';
import { ROOT } from '../support/run-process.ts';
import { Supervised } from '../support/supervised.ts';
import { tempFolder } from '../support/temp-folder.ts';
import { killHard, trainerPid } from '../support/trainer-process.ts';

const WORLD = 2;
/** More than any life can make before it is killed, however late the kill comes. */
const ENDLESS = 1_000_000;
/** The steps of the last life, which nobody kills. */
const LAST = 500;
const EVERY = 30;
const KILLS = 12;
const SEED = Number(process.env['HOLDFAST_SEED'] ?? 5);
const trainer = (steps: number): string[] => ['python3', join(ROOT, 'test/support/trainers/ranks.py'), String(WORLD), String(steps)];

const pick = <T>(rng: Rng, list: readonly T[]): T => list[Math.floor(rng.next() * list.length)] as T;

/** What is done to a run, given the launcher of the ranks, which leads their group. */
const BLOWS: Readonly<Record<string, (run: Supervised, launcher: number) => void>> = {
  'SIGTERM to the supervisor': (run) => run.signal('SIGTERM'),
  'SIGKILL to the launcher of the ranks': (_, launcher) => killHard(launcher),
  'SIGKILL to all ranks': (_, launcher) => killHard(-launcher),
  'SIGKILL to everything': (run, launcher) => {
    run.kill();
    killHard(-launcher);
  },
};

/**
 * The last good step, after checking that every rank's part is of that step and has the right sum.
 */
async function checkLastGood(dir: string): Promise<number> {
  const { checkpoint, skipped } = await lastGood(readRun(dir));
  expect(skipped).toEqual([]);
  if (checkpoint === null) return -1;
  const { step } = checkpoint.manifest;
  const states = readdirSync(checkpoint.path)
    .filter((name) => name.startsWith('rank-'))
    .map((name) => JSON.parse(readFileSync(join(checkpoint.path, name), 'utf8')) as { rank: number; step: number; sum: number });
  expect(states.length).toBe(WORLD);
  for (const state of states) expect(state).toEqual({ rank: state.rank, step, sum: ((step * (step + 1)) / 2) * (state.rank + 1) });
  return step;
}

describe('a run of several ranks that is killed repeatedly', () => {
  it(`resumes from a good step every time, and ends with the right numbers (seed ${SEED})`, async () => {
    const rng = createRng(SEED);
    using folder = tempFolder();
    const dir = join(folder.path, 'run');
    let good = -1;
    let launcher: number | undefined;
    for (let n = 0; n < KILLS; n++) {
      const blow = pick(rng, Object.keys(BLOWS));
      const run = new Supervised({ args: ['--dir', dir, '--every', `${EVERY}steps`, '--grace', '20s'], command: trainer(ENDLESS) });
      // Somewhere between the first steps and some saves later.
      await run.line(/^ready/);
      const saves = Math.floor(rng.next() * 3);
      const start = Number((await run.line(/^start 0 /)).split(' ')[2]);
      // What lay in memory when everything was killed is sealed by the next life, before its
      // trainer starts.
      if (start !== good + 1)
        await run.line(new RegExp(`sealed step ${start - 1} .* which an earlier run of the supervisor left in memory`));
      expect(start).toBeGreaterThan(good);
      const next = (Math.floor((start + EVERY - 1) / EVERY) + saves - 1) * EVERY;
      if (saves > 0 && next > start) await run.line(new RegExp(`sealed step ${next} `));
      launcher = await trainerPid(dir, launcher);
      BLOWS[blow]?.(run, launcher);
      await run.ended;
      const now = await checkLastGood(dir);
      expect(now, blow).toBeGreaterThanOrEqual(good);
      good = now;
    }
    const steps = good + LAST;
    const { code, stdout } = await new Supervised({ args: ['--dir', dir, '--every', '1000steps'], command: trainer(steps) }).ended;
    const finished = stdout
      .split('\n')
      .filter((line) => line.startsWith('finished'))
      .sort();
    expect([code, finished]).toEqual([
      0,
      Array.from({ length: WORLD }, (_, rank) => `finished ${rank} ${((steps * (steps - 1)) / 2) * (rank + 1)}`),
    ]);
  });
});
