import { parseArgs } from 'node:util';
import { realClock } from '../../../src/core/clock.ts';
import { createRng } from '../../../src/core/rng.ts';
import { findTorchrun } from '../support/torchrun.ts';
import { ResultFile } from './document.ts';
import { strike } from './strike.ts';
import { LAUNCHES } from './struck-run.ts';
import { type Tally, together } from './tally.ts';
import { Twins } from './twins.ts';

/**
 * Strikes runs of a real torchrun for a long time and writes docs/proofs/kill-proof.md:
 * `npm run kills:long -- --count 1000 --seed 1 --minutes 600 --strands 1 --forked 15 --add`.
 *
 * The page and the results behind it are replaced; with --add, the earlier results are kept and
 * counted too. `--strands` is the number of runs that are struck at the same time. `--forked` is
 * the number of runs with forked ranks for each run whose ranks are separate programs. Separate
 * ranks each load torch and thus start several times more slowly, but do the same afterwards.
 * Results are written after every run. After the minutes, or at Ctrl-C, the current runs are played
 * to their end. The folders of runs with findings are kept.
 */
const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '600' },
    strands: { type: 'string', default: '1' },
    forked: { type: 'string', default: '15' },
    add: { type: 'boolean', default: false },
  },
});

const STEPS = 300;
const number = (name: 'count' | 'seed' | 'minutes' | 'strands' | 'forked'): number => Number(values[name]);
const [count, seed, minutes, strands] = [number('count'), number('seed'), number('minutes'), number('strands')];
const torchrun = await findTorchrun();
const twins = new Twins();
const startedMs = realClock.now();
const day = new Date(startedMs).toISOString().slice(0, 10);
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());

const results = new ResultFile(values.add);
const tallies: Tally[] = [];

function keep(tally: Tally, dir: string): void {
  for (const fault of tally.faults) process.stderr.write(`${dir}: ${fault}\n`);
  tallies.push(tally);
  const seconds = Math.round((realClock.now() - startedMs) / 1000);
  results.keep({ ...together(tallies), seeds: [seed], steps: STEPS, seconds, day });
}

const strand = (index: number): Promise<Tally> =>
  strike({
    torchrun,
    twins,
    count: Math.ceil(count / strands),
    worlds: [2, 2, 3, 4],
    launches: [...Array.from({ length: number('forked') }, () => LAUNCHES.forks), LAUNCHES.programs],
    steps: STEPS,
    isKept: true,
    rng: createRng(seed).fork(`strand ${index} of ${seed}`),
    clock: realClock,
    signal: AbortSignal.any([AbortSignal.timeout(minutes * 60_000), interrupted.signal]),
    onKill: (kills, blow) => void process.stderr.write(`${index}: ${kills} ${blow}\n`),
    onRun: keep,
  });

await Promise.all(Array.from({ length: strands }, (_, index) => strand(index)));
process.exitCode = tallies.every(({ faults }) => faults.length === 0) ? 0 : 1;
