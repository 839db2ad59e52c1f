import { statSync } from 'node:fs';
import { isDead } from '../../store/disk/process-identity.ts';
import type { OpenStore } from '../../store/folder/store.ts';
import { formatDuration } from '../../core/duration.ts';
import { excerpt } from '../../core/printable.ts';
import { SUPERVISOR_VARIABLE } from './environment.ts';
import type { AttemptOptions } from './attempt-options.ts';
import { environmentOf, isOwn, isStill, livingProcesses, type LivingProcess } from '../process/process-table.ts';

/** A process of an earlier attempt of the run that has outlived its supervisor. */
interface Orphan extends LivingProcess {
  /** The attempt that it was started in, from its environment. */
  readonly attempt: string;
}

type Run = Pick<OpenStore, 'run' | 'path' | 'owner'>;

/** The pause between two looks; each look reads the environment of every process of this user. */
const PAUSE_MS = 25;
/** A killed process is gone in a moment, unless it waits for a disk that does not answer. */
const KILL_MS = 5000;
const MOST_NAMED = 4;

/**
 * Finds the live processes that a dead supervisor started for this run. Their environment names the
 * run, its folder and that supervisor. A live supervisor ends its own trainer when it finds itself
 * fenced. A process of uncertain origin is left alone: one in another container, of another user,
 * or with a wiped environment.
 */
export function findOrphans(store: Run): readonly Orphan[] {
  const living = livingProcesses();
  const above = ancestors(living);
  return living.flatMap((one) => {
    if (above.has(one.pid) || !isOwn(one.pid)) return [];
    const attempt = attemptOf(environmentOf(one.pid), store);
    // The process may have ended meanwhile, and its number may belong to another.
    return attempt !== null && isStill(one) ? [{ ...one, attempt }] : [];
  });
}

/** This process and its ancestors; one of them may be a shell that an earlier trainer started. */
function ancestors(living: readonly LivingProcess[]): ReadonlySet<number> {
  const parents = new Map(living.map(({ pid, parent }) => [pid, parent]));
  const above = new Set<number>();
  for (let pid: number | undefined = process.pid; pid !== undefined && !above.has(pid); pid = parents.get(pid)) above.add(pid);
  return above;
}

/** The attempt of this run whose dead supervisor left this environment; null when there is none. */
function attemptOf(environment: readonly string[], { run, path, owner }: Run): string | null {
  if (!environment.includes(`HOLDFAST_RUN=${run}`)) return null;
  const valueOf = (name: string): string => environment.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
  const supervisor = valueOf(SUPERVISOR_VARIABLE);
  return supervisor !== '' && isDead(supervisor, owner) && isSameFolder(valueOf('HOLDFAST_DIR'), path)
    ? excerpt(valueOf('HOLDFAST_ATTEMPT'), 20)
    : null;
}

/** Compares the folders behind the names, because a copy of a run has the same identity. */
function isSameFolder(one: string, other: string): boolean {
  try {
    const [a, b] = [statSync(one, { bigint: true }), statSync(other, { bigint: true })];
    return a.dev === b.dev && a.ino === b.ino;
  } catch {
    return false;
  }
}

/** The parts that ending them needs. */
export type OrphanWorld = Pick<AttemptOptions, 'options' | 'store' | 'log' | 'restart'>;

/**
 * Ends every orphaned process before another trainer uses the same data and the same accelerators.
 * Nothing that an orphan does from now on can be sealed. It gets SIGTERM, and is killed when the
 * usual grace is over or when this run itself has to end (`signal`).
 */
export async function endOrphans({ options, store, log, restart }: OrphanWorld, signal: AbortSignal): Promise<void> {
  // A supervisor ends its own trainers, and it looked for older ones at its first start.
  if (restart > 0) return;
  try {
    const found = findOrphans(store);
    if (found.length === 0) return;
    const { graceMs } = options.grace;
    log.warn(`${describe(found)} survived its supervisor, which was killed; Holdfast ends it before it starts another trainer`);
    if (await haveGone(store, { untilMs: graceMs, signal, act: tellOnce() })) return log.say('the leftover trainer has ended');
    const areGone = await haveGone(store, { untilMs: KILL_MS, signal: null, act: killAll });
    const waited = signal.aborted ? 'at once' : `within ${formatDuration(graceMs)}`;
    if (areGone) log.warn(`the leftover trainer did not end ${waited} and was killed`);
    else log.warn(`${describe(findOrphans(store))} cannot be killed, and still runs beside this run`);
  } catch (thrown) {
    log.complain(thrown);
  }
}

interface Waiting {
  readonly untilMs: number;
  readonly signal: AbortSignal | null;
  readonly act: (living: readonly Orphan[]) => void;
}

/**
 * Repeats an action on the processes that are still alive; false when the time is over before all
 * have ended.
 */
async function haveGone(store: OpenStore, { untilMs, signal, act }: Waiting): Promise<boolean> {
  const { clock } = store;
  const startedMs = clock.monotonic();
  for (;;) {
    const living = findOrphans(store);
    if (living.length === 0) return true;
    if (signal?.aborted === true || clock.monotonic() - startedMs >= untilMs) return false;
    act(living);
    await clock.sleep(PAUSE_MS);
  }
}

/**
 * Sends SIGTERM once to each process, and to a launcher before its workers, which it ends itself.
 * Workers that remain get the signal when the launcher is gone.
 */
function tellOnce(): Waiting['act'] {
  const told = new Set<string>();
  return (living) => {
    const pids = new Set(living.map(({ pid }) => pid));
    for (const one of living) {
      const key = `${one.pid}.${one.began}`;
      if (pids.has(one.parent) || told.has(key)) continue;
      told.add(key);
      send(one, 'SIGTERM');
    }
  };
}

function killAll(living: readonly Orphan[]): void {
  for (const one of living) send(one, 'SIGKILL');
}

function send(one: Orphan, signal: NodeJS.Signals): void {
  try {
    if (isStill(one)) process.kill(one.pid, signal);
  } catch {
    // The process has just ended by itself.
  }
}

function describe(orphans: readonly Orphan[]): string {
  const pids = orphans.slice(0, MOST_NAMED).map(({ pid }) => pid);
  const more = orphans.length - pids.length;
  const attempts = [...new Set(orphans.map(({ attempt }) => attempt))].join(', ');
  return `the trainer of attempt ${attempts} (process ${pids.join(', ')}${more > 0 ? ` and ${more} more` : ''})`;
}
