import { readdirSync, readFileSync } from 'node:fs';
import { readLedger } from '../../../src/ledger/reader.ts';
import { isAlive, type Supervised } from '../../support/supervised.ts';

/** One life of the run that is about to be struck. */
export interface Struck {
  readonly run: Supervised;
  readonly dir: string;
  /** A number from 0 to 1, for whatever is left to chance. */
  readonly chance: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

export const GRACE_MS = 3000;

export function kill(pid: number): void {
  try {
    if (pid > 1) process.kill(pid, 'SIGKILL');
  } catch {
    // It has just ended by itself.
  }
}

/** Everything that lives and was started by a supervisor of this run, the launcher and its ranks. */
export function startedIn(dir: string): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && environmentOf(pid).includes(`HOLDFAST_DIR=${dir}`) && isAlive(pid));
}

function environmentOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
  } catch {
    return [];
  }
}

/** The launcher of the newest life. */
function launcherOf(dir: string): number {
  const pids = readLedger(dir).events.flatMap(({ event }) => (event.kind === 'trainer-started' ? [event.pid] : []));
  return pids.at(-1) ?? 0;
}

/** The ranks first: what they would do without a supervisor nobody can keep. */
function killAll({ run, dir }: Struck): void {
  for (const pid of startedIn(dir)) kill(pid);
  run.kill();
}

function killRank({ dir, chance }: Struck): void {
  const launcher = launcherOf(dir);
  const ranks = startedIn(dir).filter((pid) => pid !== launcher);
  kill(ranks[Math.floor(chance() * ranks.length)] ?? launcher);
}

/** What is done to a life. What outlives it is ended by whoever strikes, when the next life has begun. */
export const BLOWS: Readonly<Record<string, (struck: Struck) => Promise<void> | void>> = {
  'SIGKILL to a rank': killRank,
  'SIGKILL to the launcher': ({ dir }) => kill(launcherOf(dir)),
  'SIGKILL to the supervisor': ({ run }) => run.kill(),
  'SIGKILL to all': killAll,
  'SIGTERM, and SIGKILL to all some time later': async (struck) => {
    void struck.run.end();
    await struck.sleep(struck.chance() * GRACE_MS);
    killAll(struck);
  },
  'SIGTERM, and the whole grace': ({ run }) => void run.end(),
};
