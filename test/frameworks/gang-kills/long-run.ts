import { parseArgs } from 'node:util';
import { realClock } from '../../../src/core/clock.ts';
import { createRng } from '../../../src/core/rng.ts';
import { findTorchrun } from '../support/torchrun.ts';
import { keepResult } from './document.ts';
import { strike } from './strike.ts';
import { LAUNCHES } from './struck-run.ts';
import { together } from './tally.ts';

/**
 * `npm run kills:long -- --count 1000 --seed 1 --minutes 600 --strands 1 --add`: the long run whose figures stand in docs/kill-proof.md, which is
 * written anew together with the results it is made from, or with --add of these and those of the runs before. Strands strike runs of their own
 * at the same time. After the minutes, or Ctrl-C, the runs that were struck last come to their end, and what was found by then is written.
 */
const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '600' },
    strands: { type: 'string', default: '1' },
    add: { type: 'boolean', default: false },
  },
});

const STEPS = 200;
const [count, seed, minutes, strands] = [values.count, values.seed, values.minutes, values.strands].map(Number) as [
  number,
  number,
  number,
  number,
];
const torchrun = await findTorchrun();
const startedMs = realClock.now();
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());

const strand = (index: number) =>
  strike({
    torchrun,
    count: Math.ceil(count / strands),
    worlds: [2, 2, 3, 4],
    launches: [LAUNCHES.forks, LAUNCHES.forks, LAUNCHES.forks, LAUNCHES.programs],
    steps: STEPS,
    rng: createRng(seed).fork(String(index)),
    clock: realClock,
    signal: AbortSignal.any([AbortSignal.timeout(minutes * 60_000), interrupted.signal]),
    onKill: (kills, blow) => void process.stderr.write(`${index}: ${kills} ${blow}\n`),
  });

const tally = together(await Promise.all(Array.from({ length: strands }, (_, index) => strand(index))));
const seconds = Math.round((realClock.now() - startedMs) / 1000);
for (const fault of tally.faults) process.stderr.write(`${fault}\n`);
const day = new Date(startedMs).toISOString().slice(0, 10);
keepResult({ ...tally, seeds: [seed], steps: STEPS, seconds, day }, values.add);
process.exitCode = tally.faults.length === 0 ? 0 : 1;
