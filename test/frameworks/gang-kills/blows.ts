import { readdirSync, readFileSync } from 'node:fs';
import { readLedger } from '../../../src/ledger/reader.ts';
import { isAlive, type Supervised } from '../../support/supervised.ts';
import { killHard } from '../../support/trainer-process.ts';

/** One life of the run that is about to be struck. */
export interface Struck {
  readonly run: Supervised;
  readonly dir: string;
  /** The number of this life. */
  readonly attempt: number;
  /** A number from 0 to 1, for whatever is left to chance. */
  readonly chance: () => number;
  /** Shorter when the life ends before. */
  readonly sleep: (ms: number) => Promise<void>;
}

export const GRACE_MS = 3000;
/** After a notice most lives come to their end within a second; what is to fall before that falls early. */
const LATER_MS = 1000;

/** Everything that lives and was started by a supervisor of this run, the launcher and its ranks; of one life of it where that is named. */
export function startedIn(dir: string, attempt?: number): readonly number[] {
  const marks = [`HOLDFAST_DIR=${dir}`, ...(attempt === undefined ? [] : [`HOLDFAST_ATTEMPT=${attempt}`])];
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && isMarked(pid, marks) && isAlive(pid));
}

function isMarked(pid: number, marks: readonly string[]): boolean {
  const environment = readProcess(pid, 'environ').split('\0');
  return marks.every((mark) => environment.includes(mark));
}

/** What it is, and what it waits for. */
export function describeProcess(pid: number): string {
  const command = readProcess(pid, 'cmdline').split('\0').slice(0, 3).join(' ');
  return `${pid} (${command}, in ${readProcess(pid, 'wchan') || 'user space'})`;
}

function readProcess(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}

/** The launcher of this life, and its ranks; no launcher while it has not started or is not recorded yet. */
function familyIn({ dir, attempt }: Struck): { readonly launcher: number | null; readonly ranks: readonly number[] } {
  const started = startedIn(dir, attempt);
  const launcher = readLedger(dir)
    .events.flatMap(({ event }) => (event.kind === 'trainer-started' ? [event.pid] : []))
    .findLast((pid) => started.includes(pid));
  if (launcher === undefined) return { launcher: null, ranks: [] };
  // What a rank has started for a moment is none.
  const ranks = started.filter((pid) => new RegExp(`^PPid:\\s+${launcher}$`, 'm').test(readProcess(pid, 'status')));
  return { launcher, ranks };
}

/** The ranks first: what they would do without a supervisor nobody can keep. */
function killAll({ run, dir, attempt }: Struck): void {
  for (const pid of startedIn(dir, attempt)) killHard(pid);
  run.kill();
}

/** What is done to a life. */
export interface Blow {
  /** False when there is nobody yet to do it to. What outlives it is ended by whoever strikes. */
  readonly fall: (struck: Struck) => Promise<boolean> | boolean;
  /** What it counts as, by what the life ended with; something else has ended a life that ended with anything else. */
  readonly counts: Readonly<Record<string, string>>;
}

const RANK = 'SIGKILL to a rank';
const LAUNCHER = 'SIGKILL to the launcher';
const SUPERVISOR = 'SIGKILL to the supervisor';
const ALL = 'SIGKILL to all';
const LATER = 'SIGTERM, and SIGKILL to all some time later';
const WHOLE_GRACE = 'SIGTERM, and the whole grace';

/** By their names. */
export const BLOWS: Readonly<Record<string, Blow>> = {
  [RANK]: {
    fall: (struck) => {
      const { ranks } = familyIn(struck);
      return hit(ranks[Math.floor(struck.chance() * ranks.length)]);
    },
    // As torchrun ends when it has lost a rank.
    counts: { 1: RANK },
  },
  [LAUNCHER]: { fall: (struck) => hit(familyIn(struck).launcher), counts: { 137: LAUNCHER } },
  [SUPERVISOR]: { fall: ({ run }) => (run.kill(), true), counts: { SIGKILL: SUPERVISOR } },
  [ALL]: { fall: (struck) => (killAll(struck), true), counts: { SIGKILL: ALL } },
  [LATER]: {
    fall: async (struck) => {
      void struck.run.end();
      await struck.sleep(struck.chance() * LATER_MS);
      killAll(struck);
      return true;
    },
    counts: { SIGKILL: LATER, 143: WHOLE_GRACE },
  },
  [WHOLE_GRACE]: { fall: ({ run }) => (void run.end(), true), counts: { 143: WHOLE_GRACE } },
};

function hit(pid: number | null | undefined): boolean {
  if (pid === null || pid === undefined) return false;
  killHard(pid);
  return true;
}
