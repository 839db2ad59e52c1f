import { readdirSync, readFileSync } from 'node:fs';
import { readLedger } from '../../../src/ledger/reader.ts';
import { isAlive, type Supervised } from '../../support/supervised.ts';
import { killHard } from '../../support/trainer-process.ts';

/** One life of the run that is about to be struck. */
export interface Struck {
  readonly run: Supervised;
  readonly dir: string;
  /** A number from 0 to 1, for whatever is left to chance. */
  readonly chance: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

export const GRACE_MS = 3000;

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

/** The launcher of this life, and its ranks; no launcher while it has not started or is not recorded yet. */
function familyIn(dir: string): { readonly launcher: number | null; readonly ranks: readonly number[] } {
  const started = startedIn(dir);
  const pids = readLedger(dir).events.flatMap(({ event }) => (event.kind === 'trainer-started' ? [event.pid] : []));
  const launcher = pids.at(-1) ?? 0;
  return started.includes(launcher) ? { launcher, ranks: started.filter((pid) => pid !== launcher) } : { launcher: null, ranks: [] };
}

/** The ranks first: what they would do without a supervisor nobody can keep. */
function killAll({ run, dir }: Struck): void {
  for (const pid of startedIn(dir)) killHard(pid);
  run.kill();
}

function killRank({ dir, chance }: Struck): boolean {
  const { ranks } = familyIn(dir);
  const rank = ranks[Math.floor(chance() * ranks.length)];
  if (rank !== undefined) killHard(rank);
  return rank !== undefined;
}

function killLauncher({ dir }: Struck): boolean {
  const { launcher } = familyIn(dir);
  if (launcher !== null) killHard(launcher);
  return launcher !== null;
}

/** What is done to a life; false when there is nobody yet to do it to. What outlives it is ended by whoever strikes, when the next life has begun. */
export const BLOWS: Readonly<Record<string, (struck: Struck) => Promise<boolean> | boolean>> = {
  'SIGKILL to a rank': killRank,
  'SIGKILL to the launcher': killLauncher,
  'SIGKILL to the supervisor': ({ run }) => (run.kill(), true),
  'SIGKILL to all': (struck) => (killAll(struck), true),
  'SIGTERM, and SIGKILL to all some time later': async (struck) => {
    void struck.run.end();
    await struck.sleep(struck.chance() * GRACE_MS);
    killAll(struck);
    return true;
  },
  'SIGTERM, and the whole grace': ({ run }) => (void run.end(), true),
};
