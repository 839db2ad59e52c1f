import { join } from 'node:path';
import type { CheckpointReport } from '../../verify/report.ts';
import { adopt, type Adopted } from '../../store/adopt/adopt.ts';
import type { Attempt } from '../../store/attempt/attempt.ts';
import { checkSealed } from '../../store/folder/check-sealed.ts';
import { BESIDE_SUFFIX } from '../../seal/names.ts';
import type { Manifest } from '../../seal/manifest.ts';
import { readManifestFile } from '../../store/folder/read-seals.ts';
import { isRolledBack } from '../../store/folder/rollback.ts';
import { type Scan, scan } from '../../store/folder/scan.ts';
import type { OpenStore } from '../../store/folder/store.ts';
import { findWriters } from '../../bytes/source/writers.ts';
import { formatBytes } from '../../core/bytes.ts';
import { formatDuration } from '../../core/duration.ts';
import { HoldfastError } from '../../core/errors.ts';
import type { RunLog } from '../base/run-log.ts';
import { mayStillGrow } from './finished.ts';
import { judge } from './inspect-entry.ts';
import { type Entry, lastWrittenMs, lookAround, writtenMs } from './look.ts';
import type { Before } from './watch-messages.ts';
import { putBack, retractGone, takeAside } from './retract.ts';

interface LeftoverOptions {
  readonly store: OpenStore;
  readonly attempt: Attempt;
  readonly log: RunLog;
  readonly signal: AbortSignal;
}

/**
 * The number of newest entries to inspect. If all of these are unfit, older ones are unlikely to
 * help.
 */
const MOST_JUDGED = 20;

/**
 * Puts the watched folder in order before the search for the last good checkpoint. An earlier
 * supervisor may have been killed with its trainer. A save that the trainer finished may then lack
 * a seal. A save that the trainer began to replace or delete may still have one. The newest whole
 * save is sealed for this attempt if it is newer than every sealed one; older saves stay as they
 * are.
 */
export async function settleLeftovers(options: LeftoverOptions): Promise<void> {
  try {
    const mixed = await retractVoid(options);
    await sealNewest(options, mixed);
  } catch (thrown) {
    options.signal.throwIfAborted();
    // A failure here only leaves saves unsealed; the trainer starts all the same.
    options.log.complain(thrown);
  }
}

/** The entries of the folder now, and which of them are sealed. */
export function snapshot(store: OpenStore): Before {
  const entries = [...lookAround(store.fs, store.path).values()];
  return {
    entries: entries.map(({ name, stamps }) => [name, stamps]),
    sealed: entries.filter((entry) => sealOf(store, entry.manifestFile) !== null).map(({ name }) => name),
  };
}

/**
 * The manifest of a checkpoint that was sealed where its framework wrote it; null for any other.
 */
function sealOf({ fs, run }: OpenStore, manifestFile: string): Manifest | null {
  const parsed = readManifestFile(fs, manifestFile);
  return parsed?.ok === true && parsed.manifest.run === run && parsed.manifest.origin === 'adopted' ? parsed.manifest : null;
}

/**
 * Removes every void seal: a file is missing or was written after the seal, and its bytes differ. A
 * seal stays when its bytes differ although no file was written; the search for the last good
 * checkpoint handles that damage. Returns the names of the entries that mix files of two saves.
 */
async function retractVoid({ store, log, signal }: LeftoverOptions): Promise<ReadonlySet<string>> {
  const { fs, path: folder } = store;
  const mixed = new Set<string>();
  const entries = lookAround(fs, folder);
  for (const entry of entries.values()) {
    const manifest = sealOf(store, entry.manifestFile);
    const fate = manifest === null ? 'stays' : await settleSeal(entry, manifest, { store, signal });
    if (fate === 'stays') continue;
    if (fate === 'mixed') mixed.add(entry.name);
    log.say(`${entry.path} was overwritten or half deleted after it was sealed; Holdfast removes its seal`);
  }
  for (const name of fs.list(folder)) {
    if (!name.endsWith(BESIDE_SUFFIX)) continue;
    const own = name.slice(0, -BESIDE_SUFFIX.length);
    if (!entries.has(own) && sealOf(store, join(folder, name)) !== null) retractGone(fs, folder, own);
  }
  return mixed;
}

/**
 * Decides what happens to the seal of one checkpoint. `mixed`: it is removed, and the entry holds
 * files of two saves.
 */
async function settleSeal(
  entry: Entry,
  manifest: Manifest,
  { store, signal }: Pick<LeftoverOptions, 'store' | 'signal'>,
): Promise<'stays' | 'mixed' | 'taken-back'> {
  const sealedMs = store.fs.stat(entry.manifestFile)?.mtimeMs ?? 0;
  const files = manifest.files.map(({ path }) => entry.stamps.get(path));
  const isAsSealed = (stamp: string | undefined): boolean => stamp !== undefined && writtenMs(stamp) <= sealedMs;
  if (files.every(isAsSealed)) return 'stays';
  const root = entry.kind === 'directory' ? entry.path : store.path;
  // Times can be wrong and a file can be touched, so a seal stays when every byte still matches.
  if ((await checkSealed(store, { ...entry, root, manifest }, 'deep', { signal })).state === 'good') return 'stays';
  const isMixed = files.some(isAsSealed);
  const seal = takeAside(store, entry);
  if (seal !== null && hasSealedSizes(entry, manifest) && (isMixed || !(await isWhole(entry, { store, signal })))) {
    // The bytes are damaged. With the seal in place, the search for the last good checkpoint
    // quarantines them.
    putBack(store, entry, seal);
    return 'stays';
  }
  return isMixed ? 'mixed' : 'taken-back';
}

/**
 * Returns true when every file is there with its sealed size, so that no writer was interrupted.
 */
function hasSealedSizes({ stamps }: Entry, { files }: Manifest): boolean {
  return files.every(({ path, size }) => stamps.get(path)?.startsWith(`${size}:`) === true);
}

/**
 * Returns true when a run can resume from the entry, after comparing every checksum that the format
 * has.
 */
async function isWhole(entry: Entry, { store, signal }: Pick<LeftoverOptions, 'store' | 'signal'>): Promise<boolean> {
  const judged = await judge(store.path, entry, { writers: () => findWriters(), signal, level: 'deep' });
  return judged.kind === 'whole';
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
  const newest = loose.sort((a, b) => lastWrittenMs(b.stamps) - lastWrittenMs(a.stamps)).slice(0, MOST_JUDGED);
  const whole = (await finishedOf(newest, options)).filter((one) => one.step > best && !isRefused(found, one));
  for (const { entry } of whole.sort((a, b) => b.step - a.step)) if (await sealed(entry, options)) return;
}

/** Returns the entries that are whole and finished. The caller passes the newest first. */
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

/**
 * The end of its writers is unknown. Where ranks may be missing, only a newer checkpoint of the
 * same format proves that this one is finished.
 */
function isFinished(report: CheckpointReport, begun: ReadonlySet<string>): boolean {
  return !mayStillGrow(report) || begun.has(report.format?.id ?? '');
}

/**
 * The run was rolled back and nothing was sealed since, so the run was rolled back from this entry.
 */
function isRefused({ rollback, sealed: all }: Scan, { entry: { name }, step }: Whole): boolean {
  const attempt = Math.max(rollback?.throughAttempt ?? 0, all[0]?.manifest.attempt ?? 0);
  return name !== rollback?.to?.name && isRolledBack({ manifest: { attempt, step } }, rollback);
}

async function sealed({ path }: Entry, { store, attempt, log, signal }: LeftoverOptions): Promise<boolean> {
  const startedMs = store.clock.monotonic();
  try {
    const adopted = await adopt(store, path, { attempt: attempt.attempt, signal });
    recordAdopted(log, adopted, store.clock.monotonic() - startedMs, 'adopted');
    return true;
  } catch (thrown) {
    signal.throwIfAborted();
    if (!(thrown instanceof HoldfastError) || thrown.code === 'ATTEMPT_FENCED') throw thrown;
    log.warn(`the run does not resume from ${path}: ${thrown.message}`);
    return false;
  }
}

/** Records a save that was sealed in place, in the ledger and in the log. */
export function recordAdopted(
  log: RunLog,
  { path, bytes, manifest: { save, step } }: Pick<Adopted, 'path' | 'bytes'> & { readonly manifest: Pick<Manifest, 'save' | 'step'> },
  totalMs: number,
  reason: 'watch' | 'adopted',
): void {
  log.record({ kind: 'save-started', save, step, reason, predicted: null });
  const phases = { stallMs: null, writeMs: null, copyMs: null, checksumMs: totalMs, commitMs: null };
  log.record({ kind: 'save-ended', save, step, outcome: 'sealed', bytes, totalMs, ...phases, problem: null });
  const whose = reason === 'adopted' ? ', which an earlier run of the supervisor left' : '';
  log.say(`sealed step ${step}${whose} (${formatBytes(bytes)}, in ${formatDuration(totalMs)}): ${path}`);
}
