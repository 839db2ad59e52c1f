import { parseArgs } from 'node:util';
import { createRng, type Rng } from '../../src/core/rng.ts';
import { runInjections } from './injection/long-injections.ts';
import { SUBJECTS } from './injection/subjects.ts';
import type { Tally } from './injection/tally.ts';
import { cutPower } from './power/cuts.ts';
import { findTorch } from './power/framework-saves.ts';
import { tryEveryMutation } from './states/every-mutation.ts';
import { HARMLESS } from './states/harmless-mutations.ts';
import { tryEveryState } from './states/every-state.ts';
import { runRounds } from './writers/rounds.ts';

/**
 * `npm run crash:long -- --part writers|injections|cuts|states --count 2000 --seed 1`: the long
 * runs behind the figures in docs/proofs/crash-proof.md.
 *
 * The count is of rounds, of injections, or of power cuts of each file system. The part `states`
 * always covers all states and mutations. `--subject save` (repeatable) injects into these subjects
 * only. `--drawn` makes only drawn injections, as many in each phase. The run fails on a bad
 * outcome, and if it was too short to cover everything (`missing`), and prints the reason.
 */
const { values } = parseArgs({
  options: {
    part: { type: 'string', default: 'writers' },
    count: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
    subject: { type: 'string', multiple: true, default: [] },
    minutes: { type: 'string', default: '600' },
    drawn: { type: 'boolean', default: false },
  },
});

function inject(count: number, rng: Rng) {
  const wanted = SUBJECTS.filter((subject) => values.subject.includes(subject));
  const onProgress = ({ injections, faults }: Tally): void =>
    void process.stderr.write(`${injections} injections, ${faults.length} faults\n`);
  const signal = AbortSignal.timeout(Math.round(Number(values.minutes) * 60_000));
  return runInjections({
    count,
    rng,
    signal,
    onProgress,
    isExhaustive: !values.drawn,
    ...(wanted.length === 0 ? {} : { subjects: wanted }),
  });
}

async function cut(count: number, rng: Rng) {
  const faults: string[] = [];
  const byFileSystem: Record<string, unknown> = {};
  const torch = findTorch();
  const python = 'python' in torch ? torch.python : null;
  for (const kind of ['ext4', 'xfs', 'btrfs'] as const) {
    const { faults: found, frameworks, ...figures } = await cutPower({ kind, count, rng: rng.fork(kind), python });
    byFileSystem[kind] = { ...figures, frameworks: Object.fromEntries(frameworks) };
    faults.push(...found.map((fault) => `${kind}: ${fault}`));
  }
  return { faults, byFileSystem };
}

async function enumerate() {
  const { faults, ...states } = await tryEveryState();
  const mutations = await tryEveryMutation();
  const harmless = new Set(HARMLESS.flatMap(({ mutations: steps }) => steps));
  const unknown = mutations.survivors.filter((step) => !harmless.has(step)).map((step) => `not found out: ${step}`);
  const dead = [...harmless].filter((step) => !mutations.survivors.includes(step)).map((step) => `said to be harmless: ${step}`);
  return { ...states, faults: [...faults, ...unknown, ...dead], mutations };
}

function runPart(count: number, rng: Rng) {
  switch (values.part) {
    case 'injections':
      return inject(count, rng);
    case 'cuts':
      return cut(count, rng);
    case 'states':
      return enumerate();
    case 'writers':
      return runRounds(count, rng);
    default:
      throw new Error(`--part is writers, injections, cuts or states, not ${JSON.stringify(values.part)}`);
  }
}

const begun = Date.now();
const [count, seeded] = [Number(values.count), createRng(Number(values.seed))];
const { faults, ...figures } = await runPart(count, seeded);
const missing = 'missing' in figures ? figures.missing : [];
for (const fault of faults) process.stderr.write(`fault: ${fault}\n`);
for (const one of missing) process.stderr.write(`missing: ${one}\n`);
const seconds = Math.round((Date.now() - begun) / 1000);
process.stdout.write(`${JSON.stringify({ ...values, ...figures, faults: faults.length, seconds }, null, 2)}\n`);
process.exitCode = faults.length + missing.length === 0 ? 0 : 1;
