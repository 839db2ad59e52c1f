import { existsSync } from 'node:fs';
import type { ErrorCode } from '../../core/error-codes.ts';
import { HoldfastError } from '../../core/errors.ts';
import { makeLastingFolders } from '../../core/make-folders.ts';
import { printable } from '../../core/printable.ts';
import { type OpenStore, openRun, readRun, type Store } from '../../store/folder/store.ts';
import { isCode, storeError } from '../../store/disk/store-error.ts';
import type { ObjectStore } from '../backends/backend.ts';
import { discardStaged, fetchCopy, type FetchCopyOptions, type FetchedCopy } from './fetch-copy.ts';
import { type CopyWishes, newestCopies } from '../pointer/newest-copies.ts';
import { findOwner } from '../pointer/whose-prefix.ts';
import { findNamed, isBadCopy, notFound, type RemoteCheckpoint } from '../pointer/remote-checkpoint.ts';
import { settleRollback, takenOver, takeOver } from '../pointer/remote-rollback.ts';

/** What a fetch needs. */
export interface FetchOptions extends FetchCopyOptions {
  /** The folder of the run; fetch makes it when it is missing. */
  readonly folder: string;
  /** Selects the copies that count; without it all do. */
  readonly isWanted?: CopyWishes['isWanted'];
  /** Called with the copy that fetch is about to bring. */
  readonly onFound?: (found: RemoteCheckpoint) => void;
  /** Called when a rollback from the remote place starts to apply in this folder. */
  readonly onDecision?: (sentence: string) => void;
  /**
   * Called when copies exist and none is usable; fetch then returns null. Without it, fetch throws
   * the newest copy's error.
   */
  readonly onNoneGood?: (thrown: unknown) => void;
  /**
   * Called when a newer copy is bad and fetch tries an older one. The bad copy stays where it is.
   */
  readonly onSkip?: (skipped: SkippedCopy) => void;
}

/** A copy that fetch did not take, and why. */
export interface SkippedCopy {
  readonly name: string;
  readonly code: ErrorCode;
  readonly reason: string;
}

/** The result of a fetch. */
export interface Fetched extends FetchedCopy {
  readonly durationMs: number;
  /** Newer copies that are bad. */
  readonly skipped: readonly SkippedCopy[];
}

/** Fetches the named copy, or the newest good one. */
export async function fetchCheckpoint(options: FetchOptions & { readonly checkpoint: string | null }): Promise<Fetched> {
  const { remote, folder, checkpoint, clock } = options;
  if (checkpoint === null) return (await fetchNewest(options)) ?? notFound(remote, null);
  const started = clock.monotonic();
  const found = await findNamed(remote, checkpoint);
  const fetched = await fetchCopy(openFolder(folder, found.manifest.run), found, options);
  return { ...fetched, durationMs: Math.round(clock.monotonic() - started), skipped: [] };
}

/**
 * Fetches the newest good copy: the one the pointer names or, if it is bad, the next older one.
 * Skips copies that a rollback excludes, and applies that rollback to this folder, too. Null when
 * no copy counts.
 */
export async function fetchNewest(options: FetchOptions): Promise<Fetched | null> {
  const { remote, folder, clock, isWanted = () => true } = options;
  const started = clock.monotonic();
  const bad = new Map<string, { readonly skipped: SkippedCopy; readonly thrown: unknown }>();
  const onBad = (name: string, thrown: unknown): void => {
    if (bad.has(name) || !isBadCopy(thrown)) return;
    const skipped = { name, code: thrown.code, reason: thrown.message };
    bad.set(name, { skipped, thrown });
    options.onSkip?.(skipped);
  };
  const tried: string[] = [];
  const settled = await settleRollback(remote, await folderOfRun(folder, remote));
  const decidedThrough = settled.there?.rollback.throughAttempt ?? null;
  let decision = takenOver(remote, settled);
  for await (const found of newestCopies(remote, { rollback: settled.holds, decidedThrough, isWanted, onBad })) {
    const store = openFolder(folder, found.manifest.run);
    await takeOver(store, settled);
    if (decision !== null) options.onDecision?.(decision);
    decision = null;
    options.onFound?.(found);
    try {
      const fetched = await fetchCopy(store, found, options);
      for (const save of tried) discardStaged(store, save, options);
      const skipped = [...bad.values()].map((one) => one.skipped);
      return { ...fetched, durationMs: Math.round(clock.monotonic() - started), skipped };
    } catch (thrown) {
      if (!isBadCopy(thrown)) throw thrown;
      tried.push(found.manifest.save);
      onBad(found.copy.name, thrown);
    }
  }
  const [first] = bad.values();
  if (first === undefined) return null;
  if (options.onNoneGood === undefined) throw first.thrown;
  options.onNoneGood(first.thrown);
  return null;
}

/** The folder, if it belongs to the run of the copies: then its rollback counts, too. */
async function folderOfRun(folder: string, remote: ObjectStore): Promise<Store | null> {
  if (!existsSync(folder)) return null;
  const store = readRun(folder);
  return store.run !== null && store.run === (await findOwner(remote)) ? store : null;
}

/** Makes the folder one of this run, and refuses a folder of another run. */
function openFolder(folder: string, run: string): OpenStore {
  makeFolder(folder);
  const store = openRun(folder, { run });
  if (store.run === run) return store;
  throw new HoldfastError('RUN_FOREIGN', {
    message: `${printable(folder)} is the folder of the run ${printable(store.run)}, the checkpoint is of ${printable(run)}`,
    hint: 'Fetch it into a folder of its own.',
  });
}

function makeFolder(folder: string): void {
  try {
    makeLastingFolders(folder);
  } catch (thrown) {
    // The code that opens the folder reports a file in the way.
    if (!isCode(thrown, 'EEXIST', 'ENOTDIR')) throw storeError(thrown, 'make', folder);
  }
}
