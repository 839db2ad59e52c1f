import { statSync } from 'node:fs';
import { isDead } from '../checkpoint/store/process-identity.ts';
import type { OpenStore } from '../checkpoint/store/store.ts';
import { formatDuration } from '../core/duration.ts';
import { excerpt } from '../core/printable.ts';
import { SUPERVISOR_VARIABLE } from './environment.ts';
import type { LiveOptions } from './live-once.ts';
import { environmentOf, isOwn, isStill, livingProcesses, type LivingProcess } from './process-table.ts';

/** A process of an earlier life of the run that has outlived its supervisor. */
interface Orphan extends LivingProcess {
  /** The attempt that it was started in, as its environment tells it. */
  readonly attempt: string;
}

type Run = Pick<OpenStore, 'run' | 'path' | 'owner'>;

/** How often to look again; every look reads the environment of every process of this user. */
const PAUSE_MS = 25;
/** Who is killed is gone in a moment, unless it waits for a disk that does not answer. */
const KILL_MS = 5000;
const MOST_NAMED = 4;

/**
 * What was started for this run by a supervisor that is dead, and still lives: its environment names the run, its folder and that supervisor. The trainer of
 * one that lives is that one's to end, which it does when it finds itself fenced; nor is anything touched of which it is not certain whose it is: in
 * another container, of another user, or with an environment that was wiped.
 */
export function findOrphans(store: Run): readonly Orphan[] {
  const living = livingProcesses();
  const above = ancestors(living);
  return living.flatMap((one) => {
    if (above.has(one.pid) || !isOwn(one.pid)) return [];
    const attempt = attemptOf(environmentOf(one.pid), store);
    // What was read may be of another that was given its number meanwhile.
    return attempt !== null && isStill(one) ? [{ ...one, attempt }] : [];
  });
}

/** This process and those it descends from: perhaps a shell that an earlier trainer has started. */
function ancestors(living: readonly LivingProcess[]): ReadonlySet<number> {
  const parents = new Map(living.map(({ pid, parent }) => [pid, parent]));
  const above = new Set<number>();
  for (let pid: number | undefined = process.pid; pid !== undefined && !above.has(pid); pid = parents.get(pid)) above.add(pid);
  return above;
}

/** The attempt of this run whose dead supervisor left this environment; null: it is none's. */
function attemptOf(environment: readonly string[], { run, path, owner }: Run): string | null {
  if (!environment.includes(`HOLDFAST_RUN=${run}`)) return null;
  const valueOf = (name: string): string => environment.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
  const supervisor = valueOf(SUPERVISOR_VARIABLE);
  return supervisor !== '' && isDead(supervisor, owner) && isSameFolder(valueOf('HOLDFAST_DIR'), path)
    ? excerpt(valueOf('HOLDFAST_ATTEMPT'), 20)
    : null;
}

/** By whatever names they are reached: a copy of a run has its identity too. */
function isSameFolder(one: string, other: string): boolean {
  try {
    const [a, b] = [statSync(one, { bigint: true }), statSync(other, { bigint: true })];
    return a.dev === b.dev && a.ino === b.ino;
  } catch {
    return false;
  }
}

/** What it takes to end them. */
export type OrphanWorld = Pick<LiveOptions, 'options' | 'store' | 'book' | 'restart'>;

/**
 * Ends what trains on without a supervisor, before another trainer is started on the same data and the same accelerators: nothing of what it does from now on can be
 * sealed. It is told, has as long as every trainer that is told to end, or until this run itself is told to (`signal`), and is killed then.
 */
export async function endOrphans({ options, store, book, restart }: OrphanWorld, signal: AbortSignal): Promise<void> {
  // A supervisor ends its own, and those of others were there before it.
  if (restart > 0) return;
  try {
    const found = findOrphans(store);
    if (found.length === 0) return;
    const { graceMs } = options.grace;
    book.warn(`${describe(found)} lived on when the supervisor was killed; it is ended before another trainer is started`);
    if (await haveGone(store, { untilMs: graceMs, signal, act: tellOnce() })) return book.say('what had outlived its supervisor has ended');
    const areGone = await haveGone(store, { untilMs: KILL_MS, signal: null, act: killAll });
    const waited = signal.aborted ? 'at once' : `within ${formatDuration(graceMs)}`;
    if (areGone) book.warn(`what had outlived its supervisor did not end ${waited} and was killed`);
    else book.warn(`${describe(findOrphans(store))} cannot be killed, and lives on beside this run`);
  } catch (thrown) {
    book.complain(thrown);
  }
}

interface Waiting {
  readonly untilMs: number;
  readonly signal: AbortSignal | null;
  readonly act: (living: readonly Orphan[]) => void;
}

/** Does something to those that live, again and again, until there is none; false when the time is over before. */
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

/** Tells each once, and a launcher before its workers, which it tells as it always does: they are told when it has gone. */
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
    // It has just ended by itself.
  }
}

function describe(orphans: readonly Orphan[]): string {
  const pids = orphans.slice(0, MOST_NAMED).map(({ pid }) => pid);
  const more = orphans.length - pids.length;
  const attempts = [...new Set(orphans.map(({ attempt }) => attempt))].join(', ');
  return `the trainer of attempt ${attempts} (process ${pids.join(', ')}${more > 0 ? ` and ${more} more` : ''})`;
}
