import { readdirSync, readFileSync } from 'node:fs';
import { readLedger } from '../../../src/ledger/reader.ts';
import { isAlive, type Supervised } from '../../support/supervised.ts';
import { killHard } from '../../support/trainer-process.ts';

/** One attempt of the run that is about to be struck. */
export interface Struck {
  readonly run: Supervised;
  readonly dir: string;
  /** The number of this attempt. */
  readonly attempt: number;
  /** Draws a number from 0 to 1. */
  readonly chance: () => number;
  /** Waits for a time, or until the attempt ends. */
  readonly sleep: (ms: number) => Promise<void>;
}

export const GRACE_MS = 3000;
/** After a notice most attempts end within a second, so a second strike has to come early. */
const LATER_MS = 1000;

/**
 * Finds every live process that a supervisor of this run started, the launcher and its ranks; with
 * a number, of that attempt only.
 */
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

/** Describes a process and what it waits for. */
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

/**
 * Finds the launcher of this attempt and its ranks. The launcher is missing while it has not
 * started or is not recorded yet.
 */
function familyIn({ dir, attempt }: Struck): { readonly launcher: number | null; readonly ranks: readonly number[] } {
  const started = startedIn(dir, attempt);
  const launcher = readLedger(dir)
    .events.flatMap(({ event }) => (event.kind === 'trainer-started' ? [event.pid] : []))
    .findLast((pid) => started.includes(pid));
  if (launcher === undefined) return { launcher: null, ranks: [] };
  // A short-lived child of a rank is not a rank.
  const ranks = started.filter((pid) => new RegExp(`^PPid:\\s+${launcher}$`, 'm').test(readProcess(pid, 'status')));
  return { launcher, ranks };
}

/** Kills the ranks first, because nothing controls them without a supervisor. */
function killAll({ run, dir, attempt }: Struck): void {
  for (const pid of startedIn(dir, attempt)) killHard(pid);
  run.kill();
}

/** One way to strike an attempt. */
export interface Blow {
  /**
   * Returns false when there is no process to kill yet. The caller ends processes that outlive the
   * kill.
   */
  readonly fall: (struck: Struck) => Promise<boolean> | boolean;
  /** Names the strike by how the attempt ended; any other end had another cause. */
  readonly counts: Readonly<Record<string, string>>;
}

const RANK = 'SIGKILL to a rank';
const LAUNCHER = 'SIGKILL to the launcher';
const SUPERVISOR = 'SIGKILL to the supervisor';
const ALL = 'SIGKILL to all';
const LATER = 'SIGTERM, and SIGKILL to all some time later';
const WHOLE_GRACE = 'SIGTERM, and the whole grace';

/** The strikes by name. */
export const BLOWS: Readonly<Record<string, Blow>> = {
  [RANK]: {
    fall: (struck) => {
      const { ranks } = familyIn(struck);
      return hit(ranks[Math.floor(struck.chance() * ranks.length)]);
    },
    // The exit code of a torchrun that has lost a rank.
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
