import { parseArgs } from 'node:util';
import { createRng, type Rng } from '../../src/core/rng.ts';
import { runCampaign } from './injection/campaign.ts';
import { findStrace } from './injection/strace.ts';
import { SUBJECTS } from './injection/subjects.ts';
import { cutPower } from './power/cuts.ts';
import { fastFolder } from './states/scenario.ts';
import { runRounds } from './writers/rounds.ts';

/**
 * `npm run crash:long -- --part writers|injections|cuts --count 2000 --seed 1`: the long runs whose figures stand in docs/crash-proof.md. The
 * count is of rounds, of injections, or of power cuts of each file system.
 */
const { values } = parseArgs({
  options: {
    part: { type: 'string', default: 'writers' },
    count: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '600' },
  },
});

/** Errors come so often at each system call of a campaign; kills once at every second. */
const ERROR_ROUNDS = 8;

async function inject(count: number, rng: Rng, minutes: number) {
  const started = Date.now();
  const tracer = findStrace();
  if ('missing' in tracer) throw new Error(tracer.missing);
  const ends = { killed: 0, refused: 0, unharmed: 0 };
  const [bySubject, byFault]: [Record<string, number>, Record<string, number>] = [{}, {}];
  const faults: string[] = [];
  let [made, places, possible] = [0, 0, 0];
  for (let campaign = 0; made < count && Date.now() - started < minutes * 60_000; campaign++) {
    const subject = SUBJECTS[campaign % SUBJECTS.length] ?? 'save';
    const shape = { bytes: rng.integer(100, 100_000), ranks: rng.integer(1, 3) };
    using folder = fastFolder();
    const result = await runCampaign({
      strace: tracer.path,
      subject,
      shape,
      folder: folder.path,
      choose: (positions, { fault }) =>
        fault === 'SIGKILL' ? positions.filter(() => rng.next() < 0.5) : Array.from({ length: ERROR_ROUNDS }, () => positions).flat(),
    });
    made += result.made;
    places += result.places.size;
    possible += result.possible;
    faults.push(...result.faults);
    bySubject[subject] = (bySubject[subject] ?? 0) + result.made;
    for (const [name, times] of result.counts) byFault[name] = (byFault[name] ?? 0) + times;
    for (const end of ['killed', 'refused', 'unharmed'] as const) ends[end] += result.ends[end];
    process.stderr.write(`${made} injections, ${faults.length} faults\n`);
  }
  return { faults, injections: made, places, possible, ...ends, bySubject, byFault };
}

async function cut(count: number, rng: Rng) {
  const faults: string[] = [];
  const byFileSystem: Record<string, unknown> = {};
  for (const kind of ['ext4', 'xfs', 'btrfs'] as const) {
    const { faults: found, ...figures } = await cutPower(kind, count, rng.fork(kind));
    byFileSystem[kind] = figures;
    faults.push(...found.map((fault) => `${kind}: ${fault}`));
  }
  return { faults, byFileSystem };
}

function runPart(count: number, rng: Rng) {
  switch (values.part) {
    case 'injections':
      return inject(count, rng, Number(values.minutes));
    case 'cuts':
      return cut(count, rng);
    default:
      return runRounds(count, rng);
  }
}

const begun = Date.now();
const [count, seeded] = [Number(values.count), createRng(Number(values.seed))];
const { faults, ...figures } = await runPart(count, seeded);
for (const fault of faults) process.stderr.write(`${fault}\n`);
const seconds = Math.round((Date.now() - begun) / 1000);
process.stdout.write(`${JSON.stringify({ ...values, ...figures, faults: faults.length, seconds }, null, 2)}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
