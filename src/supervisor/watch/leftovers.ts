import { join } from 'node:path';
import type { CheckpointReport } from '../../checkpoint/report.ts';
import { adopt, type Adopted } from '../../checkpoint/store/adopt.ts';
import type { Attempt } from '../../checkpoint/store/attempt.ts';
import { checkSealed } from '../../checkpoint/store/check-sealed.ts';
import { BESIDE_SUFFIX } from '../../checkpoint/store/layout.ts';
import type { Manifest } from '../../checkpoint/store/manifest.ts';
import { readManifestFile } from '../../checkpoint/store/read-seals.ts';
import { isRolledBack } from '../../checkpoint/store/rollback.ts';
import { type Scan, scan } from '../../checkpoint/store/scan.ts';
import type { OpenStore } from '../../checkpoint/store/store.ts';
import { findWriters } from '../../checkpoint/source/writers.ts';
import { formatBytes } from '../../core/bytes.ts';
import { formatDuration } from '../../core/duration.ts';
import { HoldfastError } from '../../core/errors.ts';
import type { Book } from '../book.ts';
import { mayStillGrow } from './finished.ts';
import { judge } from './judge.ts';
import { type Entry, lookAround, writtenMs } from './look.ts';
import type { Before } from './messages.ts';
import { retractGone, retractSeal } from './retract.ts';

interface LeftoverOptions {
  readonly store: OpenStore;
  readonly attempt: Attempt;
  readonly book: Book;
  readonly signal: AbortSignal;
}

/** So many of the newest are looked into; whoever has more that are all unfit is helped by none of them. */
const MOST_JUDGED = 20;

/**
 * Puts the watched folder in order before the last good checkpoint is looked for. Whoever watched before may have been killed with its trainer: a
 * save that the trainer finished may have no seal yet, and one that it had begun to replace or to delete may still have one. The newest
 * whole save that is newer than everything sealed is sealed, for this attempt; older ones stay as they are.
 */
export async function settleLeftovers(options: LeftoverOptions): Promise<void> {
  try {
    const mixed = await retractVoid(options);
    await sealNewest(options, mixed);
  } catch (thrown) {
    options.signal.throwIfAborted();
    // What could not be put in order is not sealed; the trainer starts all the same.
    options.book.complain(thrown);
  }
}

/** What lies in the folder now, and what of it is sealed. */
export function snapshot(store: OpenStore): Before {
  const entries = [...lookAround(store.fs, store.path).values()];
  return {
    entries: entries.map(({ name, stamps }) => [name, stamps]),
    sealed: entries.filter((entry) => sealOf(store, entry.manifestFile) !== null).map(({ name }) => name),
  };
}

/** The manifest of one that was sealed where its framework had put it; null for any other. */
function sealOf({ fs, run }: OpenStore, manifestFile: string): Manifest | null {
  const parsed = readManifestFile(fs, manifestFile);
  return parsed?.ok === true && parsed.manifest.run === run && parsed.manifest.origin === 'adopted' ? parsed.manifest : null;
}

/**
 * Takes back what does not hold: something was written after it was sealed, or is missing, and the bytes are not those that were sealed. Bytes that differ
 * although nobody wrote them are another matter, and for whoever looks for the last good. Gives the names of those in which files of two
 * saves lie beside each other.
 */
async function retractVoid({ store, book, signal }: LeftoverOptions): Promise<ReadonlySet<string>> {
  const { fs, path: folder } = store;
  const mixed = new Set<string>();
  const entries = lookAround(fs, folder);
  for (const entry of entries.values()) {
    const manifest = sealOf(store, entry.manifestFile);
    const sealedMs = fs.stat(entry.manifestFile)?.mtimeMs ?? 0;
    if (manifest === null) continue;
    const files = manifest.files.map(({ path }) => entry.stamps.get(path));
    const isAsSealed = (stamp: string | undefined): boolean => stamp !== undefined && writtenMs(stamp) <= sealedMs;
    if (files.every(isAsSealed)) continue;
    const root = entry.kind === 'directory' ? entry.path : folder;
    // Times can be wrong, and a file can be touched: a seal whose every byte is there stays.
    if ((await checkSealed(store, { ...entry, root, manifest }, 'deep', { signal })).state === 'good') continue;
    if (files.some(isAsSealed)) mixed.add(entry.name);
    retractSeal(fs, entry);
    book.say(`${entry.path} was written over, or half deleted, after it was sealed; its seal is taken back`);
  }
  for (const name of fs.list(folder)) {
    if (!name.endsWith(BESIDE_SUFFIX)) continue;
    const own = name.slice(0, -BESIDE_SUFFIX.length);
    if (!entries.has(own) && sealOf(store, join(folder, name)) !== null) retractGone(fs, folder, own);
  }
  return mixed;
}

interface Whole {
  readonly entry: Entry;
  readonly step: number;
}

async function sealNewest(options: LeftoverOptions, mixed: ReadonlySet<string>): Promise<void> {
  const { store } = options;
  const found = scan(store);
  const best = found.sealed[0]?.manifest.step ?? -1;
  const loose = [...lookAround(store.fs, store.path).values()].filter(({ name, hasSeal }) => !hasSeal && !mixed.has(name));
  const newest = loose.sort((a, b) => changedMs(b) - changedMs(a)).slice(0, MOST_JUDGED);
  const whole = (await finishedOf(newest, options)).filter((one) => one.step > best && !isRefused(found, one));
  for (const { entry } of whole.sort((a, b) => b.step - a.step)) if (await sealed(entry, options)) return;
}

/** Those that are whole and finished; they are given the newest first. */
async function finishedOf(newest: readonly Entry[], { store, signal }: LeftoverOptions): Promise<readonly Whole[]> {
  const finished: Whole[] = [];
  const begun = new Set<string>();
  for (const entry of newest) {
    const judged = await judge(store.path, entry, { writers: () => findWriters(), signal });
    if (judged.kind !== 'whole' && judged.kind !== 'unfit') continue;
    const { report } = judged;
    if (judged.kind === 'whole' && report.step !== null && isFinished(report, begun)) finished.push({ entry, step: report.step });
    begun.add(report.format?.id ?? '');
  }
  return finished;
}

/** Nobody knows how its writers ended; where ranks may be missing, only that a newer one of its format was begun tells that it is finished. */
function isFinished(report: CheckpointReport, begun: ReadonlySet<string>): boolean {
  return !mayStillGrow(report) || begun.has(report.format?.id ?? '');
}

function changedMs({ stamps }: Entry): number {
  return Math.max(0, ...[...stamps.values()].map(writtenMs));
}

/** Somebody has rolled the run back, and nothing was sealed since: what lies there is what the run was rolled back from. */
function isRefused({ rollback, sealed: all }: Scan, { entry: { name }, step }: Whole): boolean {
  const attempt = Math.max(rollback?.throughAttempt ?? 0, all[0]?.manifest.attempt ?? 0);
  return name !== rollback?.to?.name && isRolledBack({ manifest: { attempt, step } }, rollback);
}

async function sealed({ path }: Entry, { store, attempt, book, signal }: LeftoverOptions): Promise<boolean> {
  const startedMs = store.clock.monotonic();
  try {
    const adopted = await adopt(store, path, { attempt: attempt.attempt, signal });
    recordAdopted(book, adopted, store.clock.monotonic() - startedMs, 'adopted');
    return true;
  } catch (thrown) {
    signal.throwIfAborted();
    if (!(thrown instanceof HoldfastError) || thrown.code === 'ATTEMPT_FENCED') throw thrown;
    book.warn(`what lies in ${path} is not resumed from: ${thrown.message}`);
    return false;
  }
}

/** A save that was sealed where it lay, in the ledger and for people. */
export function recordAdopted(
  book: Book,
  { path, bytes, manifest: { save, step } }: Pick<Adopted, 'path' | 'bytes'> & { readonly manifest: Pick<Manifest, 'save' | 'step'> },
  totalMs: number,
  reason: 'watch' | 'adopted',
): void {
  book.record({ kind: 'save-started', save, step, reason, predicted: null });
  const phases = { stallMs: null, writeMs: null, copyMs: null, checksumMs: totalMs, commitMs: null };
  book.record({ kind: 'save-ended', save, step, outcome: 'sealed', bytes, totalMs, ...phases, problem: null });
  const whose = reason === 'adopted' ? ', which an earlier life had left' : '';
  book.say(`sealed step ${step}${whose} (${formatBytes(bytes)}, in ${formatDuration(totalMs)}): ${path}`);
}
