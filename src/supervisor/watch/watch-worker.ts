import { parentPort, workerData } from 'node:worker_threads';
import { findWriters } from '../../bytes/source/writers.ts';
import { adopt } from '../../store/adopt/adopt.ts';
import { scan } from '../../store/folder/scan.ts';
import { openRun } from '../../store/folder/store.ts';
import { realClock } from '../../core/clock.ts';
import { HoldfastError, toError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { kinOf } from '../process/process-table.ts';
import { Finishing } from './finished.ts';
import { judge } from './inspect-entry.ts';
import { type Entry, isSame, lastWrittenMs, lookAgain, lookAround } from './look.ts';
import type { FromWatch, NewestSave, ToWatch, WatchWork } from './watch-messages.ts';
import { putBack, retractGone, retractSeal, takeAside } from './retract.ts';
import { Tracker } from './tracker.ts';

const { dir, attempt, before, trainer } = workerData as WatchWork;
const clock = realClock;
const store = openRun(dir, { clock });
const tracker = new Tracker(before.entries, before.sealed);
const say = (message: FromWatch): void => parentPort?.postMessage(message);
/** Never aborted: a supervisor that is out of time ends the thread. */
const { signal } = new AbortController();

/**
 * The pause after a look, as a multiple of its time. Watching thus costs less than 1 % of a core,
 * however large the folder is.
 */
const PAUSES = 150;
/** The same multiple for inspecting changed entries, which is rare. */
const PAUSES_AFTER_JUDGING = 4;
const SHORTEST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** How often the thread reports that it is still busy. */
const ALIVE_MS = 1000;

let isOver = false;
/** The trainer ended by itself, so a save that looks whole is finished. */
let isClean = false;
let wake = new AbortController();
parentPort?.on('message', (message: ToWatch) => {
  isOver = true;
  ({ isClean } = message);
  wake.abort();
});

const finishing = new Finishing();
const told = new Set<string>();
/** The saves that hold no optimizer state. */
const weightsOnly = new Set<string>();
/** A save that a run can resume from is or was in the folder. */
let hasWhole = before.sealed.length > 0;
/** This many saves in a row that were deleted before they could be sealed are no accident. */
const MOST_MISSED = 3;
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

/**
 * Looks at the folder once and acts on it. Returns how long to pause for what the look cost,
 * without sealing.
 */
async function look(isLast: boolean): Promise<number> {
  const startedMs = clock.monotonic();
  const entries = lookAround(store.fs, dir);
  finishing.keepOnly(new Set(entries.keys()));
  const { due, gone, dwindling, replaced, touched } = tracker.observe(entries, clock.monotonic(), { isOver: isLast });
  for (const name of gone) retractGone(store.fs, dir, name);
  for (const entry of replaced) if (!touched.includes(entry)) retractSeal(store.fs, entry);
  // The trainer has ended and deletes nothing any more, so what is left of the entry is not a
  // checkpoint.
  if (isLast) for (const entry of dwindling) retractSeal(store.fs, entry);
  tellLost([...gone, ...dwindling.map(({ name }) => name)], 'deleted');
  tellLost(
    replaced.map(({ name }) => name),
    'overwritten',
  );
  if (tracker.missedCount >= MOST_MISSED)
    tellOnce(
      'missed',
      `nothing is sealed: the trainer deletes its saves before they can be sealed (${tracker.missedCount} so far). Let it keep two (save_total_limit=2, save_top_k=2, max_to_keep=2), or save less often`,
    );
  const lookedMs = clock.monotonic();
  // Scans the processes once, and only when an entry is due.
  let writers: ReturnType<typeof findWriters> | null = null;
  const asked = (): ReturnType<typeof findWriters> => (writers ??= findWriters(kinOf(trainer)));
  const ready: { readonly entry: Entry; readonly step: number }[] = [];
  for (const entry of due) {
    const step = await stepWhenFinished(entry, asked, isLast);
    if (step !== null) ready.push({ entry, step });
  }
  tellWeightsOnly(isLast);
  // Seals the newest first, because there may be no time for all of them.
  const judgedMs = clock.monotonic();
  for (const { entry } of ready.sort((a, b) => b.step - a.step)) await seal(entry);
  return Math.max(PAUSES * (lookedMs - startedMs), PAUSES_AFTER_JUDGING * (judgedMs - lookedMs));
}

/** The step of a checkpoint that is whole and finished; null for any other. */
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
    if (report.verdict === 'WEIGHTS_ONLY') weightsOnly.add(entry.path);
    return null;
  }
  hasWhole = true;
  return (isLast && isClean) || finishing.isFinished(entry, report, clock.monotonic()) ? (report.step ?? 0) : null;
}

/**
 * Warns when the trainer saves no optimizer state at all. A single such save beside checkpoints is
 * an export, as frameworks make at the end. Two of them, or one when the trainer has ended, are a
 * reason to warn.
 */
function tellWeightsOnly(isLast: boolean): void {
  const [path] = weightsOnly;
  if (path === undefined || hasWhole || (weightsOnly.size < 2 && !isLast)) return;
  tellOnce('weights', `${path} has no optimizer state: no run could resume from it, so it is not sealed`);
}

function leaveUnread(entry: Entry, reason: string): null {
  tracker.postpone(entry, clock.monotonic(), 0);
  const after = lookAgain(store.fs, dir, entry);
  // An entry that was just deleted cannot be read either.
  const isThere = after !== null && isSame(after.stamps, entry.stamps);
  if (isThere) fail(new HoldfastError('PATH_NOT_READABLE', { message: printable(reason) }));
  return null;
}

async function seal(entry: Entry): Promise<void> {
  const startedMs = clock.monotonic();
  // The void seal of a rewritten checkpoint. It is put back when the bytes are no checkpoint,
  // because they are damaged then.
  const voided = entry.hasSeal ? takeAside(store, entry) : null;
  try {
    const sealed = await adopt(store, entry.path, { attempt, writers: () => findWriters(kinOf(trainer)), signal, onBytes: tellAlive });
    const after = lookAgain(store.fs, dir, entry);
    // The framework wrote to it during the seal, so the seal describes the bytes before that write.
    if (after === null) return retractGone(store.fs, dir, entry.name);
    if (!isSame(after.stamps, entry.stamps)) return retractSeal(store.fs, after);
    tracker.seal(entry);
    failures.clear();
    const { name, path, bytes, manifest } = sealed;
    const { save, step } = manifest;
    say({ type: 'sealed', name, path, bytes, save, step, totalMs: clock.monotonic() - startedMs, newest: findNewest() });
  } catch (thrown) {
    if (isChange(thrown)) return;
    if (voided !== null && isVerdict(thrown)) putBack(store, entry, voided);
    const nowMs = clock.monotonic();
    if (isVerdict(thrown)) tracker.refuse(entry);
    else tracker.postpone(entry, nowMs, nowMs - startedMs);
    fail(thrown);
  }
}

/**
 * The error is about the checkpoint or about Holdfast, so a retry changes nothing. Any other error
 * comes from the disk, which may recover.
 */
const VERDICTS: ReadonlySet<string> = new Set(['CHECKPOINT_NOT_GOOD', 'CHECKPOINT_NOT_SEALABLE', 'RUN_FOREIGN', 'ATTEMPT_FENCED']);

function isVerdict(thrown: unknown): boolean {
  return thrown instanceof HoldfastError && VERDICTS.has(thrown.code);
}

const CHANGES: ReadonlySet<string> = new Set(['CHECKPOINT_CHANGED', 'PATH_NOT_FOUND']);

/** The framework may write, replace or delete it meanwhile; the next look sees it again. */
function isChange(thrown: unknown): boolean {
  if (!(thrown instanceof HoldfastError)) return false;
  if (thrown.code === 'CHECKPOINT_NOT_GOOD' && thrown.message.includes(' is IN_PROGRESS')) return true;
  return CHANGES.has(thrown.code) || (thrown.cause instanceof Error && 'code' in thrown.cause && thrown.cause.code === 'ENOENT');
}

function tellLost(names: readonly string[], how: 'deleted' | 'overwritten'): void {
  if (names.length === 0) return;
  say({ type: 'lost', names, how, newest: findNewest() });
}

/**
 * The sealed save that a resume takes first, in the same order as resume. Saves that have changed
 * since do not count.
 */
function findNewest(): NewestSave | null {
  if (tracker.sealedCount === 0) return null;
  const newest = scan(store).sealed.find(({ name }) => tracker.sealedStamps(name) !== undefined);
  if (newest === undefined) return null;
  const writtenMs = lastWrittenMs(tracker.sealedStamps(newest.name) ?? new Map<string, string>());
  const isOld = newest.manifest.attempt < attempt;
  return { step: newest.manifest.step, ageMs: isOld ? null : Math.max(0, clock.now() - writtenMs) };
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
  // Reports the same trouble once, and not at every look.
  if (!failures.has(error.message)) say({ type: 'failed', code, message: error.message });
  if (failures.size >= MOST_FAILURES) failures.clear();
  failures.add(error.message);
  return 0;
}

void watchOn();
