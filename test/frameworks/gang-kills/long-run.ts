import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { realClock } from '../../../src/core/clock.ts';
import { createRng } from '../../../src/core/rng.ts';
import { ROOT } from '../../support/run-process.ts';
import { familyOf, installFrameworks } from '../support/python.ts';
import { type KillResult, renderKills, RESULTS } from './document.ts';
import { strike, TRAINER } from './strike.ts';

/**
 * `npm run kills:long -- --count 1000 --seed 1 --minutes 600`: the long run whose figures stand in docs/kill-proof.md, which is written anew
 * together with the results it is made from.
 */
const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '600' },
  },
});

const STEPS = 400;
const family = familyOf(TRAINER);
const torchrun = join(dirname((await installFrameworks([family])).get(family) ?? ''), 'torchrun');
const startedMs = realClock.now();
const tally = await strike({
  torchrun,
  count: Number(values.count),
  worlds: [2, 2, 3, 4],
  steps: STEPS,
  rng: createRng(Number(values.seed)),
  clock: realClock,
  signal: AbortSignal.timeout(Number(values.minutes) * 60_000),
  onKill: (kills, blow) => void process.stderr.write(`${kills} ${blow}\n`),
});
const seconds = Math.round((realClock.now() - startedMs) / 1000);
for (const fault of tally.faults) process.stderr.write(`${fault}\n`);
const result: KillResult = {
  ...tally,
  seed: Number(values.seed),
  steps: STEPS,
  seconds,
  day: new Date(startedMs).toISOString().slice(0, 10),
};
writeFileSync(RESULTS, `${JSON.stringify({ ...result, lost: result.lost.join(' ') }, null, 2)}\n`);
writeFileSync(join(ROOT, 'docs/kill-proof.md'), renderKills(result));
process.exitCode = tally.faults.length === 0 ? 0 : 1;
