import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Rng } from '../../../src/core/rng.ts';
import { differences } from '../store-driver.ts';
import { fastFolder } from '../states/scenario.ts';
import { faultsOf } from './history.ts';
import type { Job } from './job.ts';
import { type ReadJournal, readJournal } from './journal.ts';
import { WriterPool } from './pool.ts';
import { sealedOnDisk } from './sealed-on-disk.ts';

export interface Tally {
  rounds: number;
  processes: number;
  kills: number;
  attempts: number;
  sealed: number;
  refused: number;
  reads: number;
  readonly faults: string[];
}

/** Rounds in the same run's folder before a new run begins. */
const ROUNDS_PER_RUN = 4;
const MAX_PROCESSES = 8;

/**
 * Each round runs 2 to 8 processes at once on one run. One to three gangs of ranks save a few
 * steps, so the older gangs are stale attempts while they write; other processes read last good.
 * They pause at random calls, and some are killed there. What happened is added to the tally.
 */
export async function runRounds(
  count: number,
  rng: Rng,
  { isSabotaged = false, tally = emptyTally() }: { readonly isSabotaged?: boolean; readonly tally?: Tally } = {},
): Promise<Tally> {
  await using pool = new WriterPool();
  for (let first = 0; first < count; first += ROUNDS_PER_RUN) {
    using folder = fastFolder();
    const run = join(folder.path, 'run');
    mkdirSync(run);
    const journals: [string, string][] = [];
    for (let round = first; round < Math.min(count, first + ROUNDS_PER_RUN); round++) {
      const planned = planRound(rng.fork(String(round)), run, folder.path, `r${round}`);
      const jobs = planned.map((job) => ({ ...job, hesitation: { ...job.hesitation, isSabotaged } }));
      journals.push(...jobs.map(({ journal, process }): [string, string] => [journal, process]));
      const ends = await pool.run(jobs);
      tally.rounds += 1;
      tally.processes += jobs.length;
      tally.kills += ends.filter((end) => end === 'killed').length;
      tally.faults.push(...ends.filter((end) => end.startsWith('failed')).map((end) => `round ${round}: ${end}`));
    }
    judge(
      run,
      journals.map(([file, process]) => readJournal(file, process)),
      tally,
    );
  }
  return tally;
}

function emptyTally(): Tally {
  return { rounds: 0, processes: 0, kills: 0, attempts: 0, sealed: 0, refused: 0, reads: 0, faults: [] };
}

function planRound(rng: Rng, run: string, folder: string, round: string): Job[] {
  const jobs: Job[] = [];
  const add = (name: string, delay: number, role: RolePart): void => {
    const process = `${round}-${name}`;
    const killAt = rng.next() < 0.25 ? rng.integer(1, 120) : null;
    const hesitation = { likelihood: rng.pick([0, 0.05, 0.3]), longest: rng.pick([1, 4]), killAt, isSabotaged: false };
    jobs.push({ run, journal: join(folder, `${process}.journal`), process, seed: rng.integer(0, 2 ** 31), hesitation, delay, ...role });
  };
  const gangs = rng.integer(1, 3);
  const steps = Array.from({ length: rng.integer(1, 3) }, (_, index) => index + 1);
  for (let gang = 0; gang < gangs; gang++) {
    const worldSize = rng.integer(1, 2);
    for (let rank = 0; rank < worldSize; rank++)
      add(`g${gang}.${rank}`, gang * rng.integer(0, 40), {
        role: 'rank',
        gang: `${round}-g${gang}`,
        rank,
        worldSize,
        steps,
        lateness: rng.pick([0, 0, 15, 40]),
      });
  }
  const readers = rng.integer(1, Math.max(1, MAX_PROCESSES - jobs.length));
  for (let reader = 0; reader < Math.min(readers, 2); reader++)
    add(`reader${reader}`, rng.integer(0, 20), { role: 'reader', reads: rng.integer(3, 8) });
  return jobs;
}

type RolePart =
  | Pick<Extract<Job, { role: 'rank' }>, 'role' | 'gang' | 'rank' | 'worldSize' | 'steps' | 'lateness'>
  | Pick<Extract<Job, { role: 'reader' }>, 'role' | 'reads'>;

function judge(run: string, journals: readonly ReadJournal[], tally: Tally): void {
  const history = journals.flatMap(({ events }) => events);
  const sealed = sealedOnDisk(run);
  const gangs = new Map<string, number>();
  for (const { gang, attempt } of journals.flatMap((journal) => journal.gangs)) {
    const known = gangs.get(gang) ?? attempt;
    if (known !== attempt) tally.faults.push(`gang ${gang} has two attempts, ${known} and ${attempt}`);
    gangs.set(gang, attempt);
  }
  // Ranks of one gang share its attempt: only the first one counts as its start.
  const starts = new Map(history.flatMap((event) => (event.kind === 'attempt' ? [[event.attempt, event] as const] : [])));
  const single = history.filter((event) => event.kind !== 'attempt' || starts.get(event.attempt) === event);
  tally.faults.push(...faultsOf(single, sealed), ...journals.flatMap(({ errors }) => errors));
  for (const one of sealed) tally.faults.push(...differences(one.path, one).map((fault) => `${one.path}: ${fault}`));
  const quarantine = join(run, '.holdfast', 'quarantine');
  if (existsSync(quarantine) && readdirSync(quarantine).length > 0) tally.faults.push('something good was put into quarantine');
  tally.attempts += starts.size;
  tally.sealed += sealed.length;
  for (const event of history) {
    if (event.kind === 'read') tally.reads += 1;
    if (event.kind === 'commit' && event.outcome === 'refused') tally.refused += 1;
  }
}
