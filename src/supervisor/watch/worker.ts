import { parentPort, workerData } from 'node:worker_threads';
import { findWriters } from '../../checkpoint/source/writers.ts';
import { adopt } from '../../checkpoint/store/adopt.ts';
import { scan } from '../../checkpoint/store/scan.ts';
import { openRun } from '../../checkpoint/store/store.ts';
import { realClock } from '../../core/clock.ts';
import { HoldfastError, toError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { kinOf } from '../process-table.ts';
import { Finishing } from './finished.ts';
import { judge } from './judge.ts';
import { type Entry, isSame, lookAgain, lookAround } from './look.ts';
import type { FromWatch, ToWatch, WatchWork } from './messages.ts';
import { retractGone, retractSeal } from './retract.ts';
import { Tracker } from './tracker.ts';

const { dir, attempt, before, trainer } = workerData as WatchWork;
const clock = realClock;
const store = openRun(dir, { clock });
const tracker = new Tracker(before.entries, before.sealed);
const say = (message: FromWatch): void => parentPort?.postMessage(message);
/** Nothing here is ended half-way: whoever has no time ends the thread. */
const { signal } = new AbortController();

/** A look is followed by a pause so many times as long: watching costs less than a per cent of a core, whatever lies there. */
const PAUSES = 150;
/** The same for looking into what has changed, which is rare. */
const PAUSES_AFTER_JUDGING = 4;
const SHORTEST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** How often it is told that something goes on. */
const ALIVE_MS = 1000;

let isOver = false;
/** The trainer has ended, and was not cut off: what looks whole is finished. */
let isClean = false;
let wake = new AbortController();
parentPort?.on('message', (message: ToWatch) => {
  isOver = true;
  ({ isClean } = message);
  wake.abort();
});

const finishing = new Finishing();
const told = new Set<string>();
/** Since the last seal. */
const failures = new Set<string>();
const MOST_FAILURES = 1000;

async function watchOn(): Promise<void> {
  for (;;) {
    wake = new AbortController();
    const isLast = isOver;
    const wantedMs = await look(isLast).catch((thrown: unknown) => fail(thrown));
    if (isLast) break;
    const pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, wantedMs));
    if (!isOver) await clock.sleep(pauseMs, { signal: wake.signal }).catch(() => {});
  }
  say({ type: 'finished' });
  parentPort?.close();
}

/** One look at the folder, and everything that follows from it; how long to pause for what it cost, sealing not counted. */
async function look(isLast: boolean): Promise<number> {
  const startedMs = clock.monotonic();
  const entries = lookAround(store.fs, dir);
  finishing.keepOnly(new Set(entries.keys()));
  const { due, gone, dwindling, replaced } = tracker.observe(entries, clock.monotonic(), { isOver: isLast });
  for (const name of gone) retractGone(store.fs, dir, name);
  for (const entry of replaced) retractSeal(store.fs, entry);
  // Nobody deletes any more: what is left of it is not a checkpoint.
  if (isLast) for (const entry of dwindling) retractSeal(store.fs, entry);
  tellLost([...gone, ...dwindling.map(({ name }) => name)], 'deleted');
  tellLost(
    replaced.map(({ name }) => name),
    'overwritten',
  );
  const lookedMs = clock.monotonic();
  // The processes are looked at once, and only when something is due.
  let writers: ReturnType<typeof findWriters> | null = null;
  const asked = (): ReturnType<typeof findWriters> => (writers ??= findWriters(kinOf(trainer)));
  const ready: { readonly entry: Entry; readonly step: number }[] = [];
  for (const entry of due) {
    const step = await stepWhenFinished(entry, asked, isLast);
    if (step !== null) ready.push({ entry, step });
  }
  // Where there may be no time for all of them, the newest is worth most.
  const judgedMs = clock.monotonic();
  for (const { entry } of ready.sort((a, b) => b.step - a.step)) await seal(entry);
  return Math.max(PAUSES * (lookedMs - startedMs), PAUSES_AFTER_JUDGING * (judgedMs - lookedMs));
}

/** The step of one that is a whole checkpoint and finished; null for any other. */
async function stepWhenFinished(entry: Entry, writers: () => ReturnType<typeof findWriters>, isLast: boolean): Promise<number | null> {
  if (!isLast && finishing.isWaiting(entry)) return null;
  tellAlive();
  const judged = await judge(dir, entry, { writers, signal });
  if (judged.kind === 'busy') return null;
  if (judged.kind === 'unread') return leaveUnread(entry, judged.reason);
  if (judged.kind === 'none') {
    tracker.refuse(entry);
    const { deeper } = judged;
    if (deeper !== null)
      tellOnce('deeper', `checkpoints lie in ${deeper} and not in ${dir} itself: they are not sealed. Give --watch=${deeper}`);
    return null;
  }
  const { report } = judged;
  finishing.note(entry, report, clock.monotonic());
  if (judged.kind === 'unfit') {
    tracker.refuse(entry);
    if (report.verdict === 'WEIGHTS_ONLY')
      tellOnce('weights', `${entry.path} has no optimizer state: nothing could go on from it, and it is not sealed`);
    return null;
  }
  return (isLast && isClean) || finishing.isFinished(entry, report, clock.monotonic()) ? (report.step ?? 0) : null;
}

function leaveUnread(entry: Entry, reason: string): null {
  tracker.postpone(entry, clock.monotonic(), 0);
  const after = lookAgain(store.fs, dir, entry);
  // Nobody can read what has just been deleted either.
  const isThere = after !== null && isSame(after.stamps, entry.stamps);
  if (isThere) fail(new HoldfastError('PATH_NOT_READABLE', { message: printable(reason) }));
  return null;
}

async function seal(entry: Entry): Promise<void> {
  const startedMs = clock.monotonic();
  try {
    const sealed = await adopt(store, entry.path, { attempt, writers: () => findWriters(kinOf(trainer)), signal, onBytes: tellAlive });
    const after = lookAgain(store.fs, dir, entry);
    // Its framework went on with it at the very moment: the seal is of what was there before.
    if (after === null) return retractGone(store.fs, dir, entry.name);
    if (!isSame(after.stamps, entry.stamps)) return retractSeal(store.fs, after);
    tracker.seal(entry);
    failures.clear();
    const { name, path, bytes, manifest } = sealed;
    say({ type: 'sealed', name, path, bytes, save: manifest.save, step: manifest.step, totalMs: clock.monotonic() - startedMs });
  } catch (thrown) {
    if (isChange(thrown)) return;
    const nowMs = clock.monotonic();
    if (isVerdict(thrown)) tracker.refuse(entry);
    else tracker.postpone(entry, nowMs, nowMs - startedMs);
    fail(thrown);
  }
}

/** What is said about the checkpoint, or about us: trying again changes nothing. Anything else is the disk's, which may be better later. */
const VERDICTS: ReadonlySet<string> = new Set(['CHECKPOINT_NOT_GOOD', 'CHECKPOINT_NOT_SEALABLE', 'RUN_FOREIGN', 'ATTEMPT_FENCED']);

function isVerdict(thrown: unknown): boolean {
  return thrown instanceof HoldfastError && VERDICTS.has(thrown.code);
}

const CHANGES: ReadonlySet<string> = new Set(['CHECKPOINT_CHANGED', 'PATH_NOT_FOUND']);

/** Whoever writes, replaces or deletes it meanwhile is in the right; it is looked at again. */
function isChange(thrown: unknown): boolean {
  if (!(thrown instanceof HoldfastError)) return false;
  if (thrown.code === 'CHECKPOINT_NOT_GOOD' && thrown.message.includes(' is IN_PROGRESS')) return true;
  return CHANGES.has(thrown.code) || (thrown.cause instanceof Error && 'code' in thrown.cause && thrown.cause.code === 'ENOENT');
}

function tellLost(names: readonly string[], how: 'deleted' | 'overwritten'): void {
  if (names.length === 0) return;
  const newest = tracker.sealedCount === 0 ? null : (scan(store).sealed[0]?.manifest.step ?? null);
  say({ type: 'lost', names, how, newest });
}

let aliveMs = 0;
function tellAlive(): void {
  const nowMs = clock.monotonic();
  if (nowMs - aliveMs < ALIVE_MS) return;
  aliveMs = nowMs;
  say({ type: 'alive' });
}

function tellOnce(about: string, text: string): void {
  if (told.has(about)) return;
  told.add(about);
  say({ type: 'note', text: printable(text) });
}

function fail(thrown: unknown): number {
  const error = toError(thrown);
  const code = error instanceof HoldfastError ? error.code : 'INTERNAL';
  // The same trouble at every look is told once.
  if (!failures.has(error.message)) say({ type: 'failed', code, message: error.message });
  if (failures.size >= MOST_FAILURES) failures.clear();
  failures.add(error.message);
  return 0;
}

void watchOn();
