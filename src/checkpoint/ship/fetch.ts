import { existsSync } from 'node:fs';
import type { ErrorCode } from '../../core/error-codes.ts';
import { HoldfastError } from '../../core/errors.ts';
import { makeLastingFolders } from '../../core/make-folders.ts';
import { printable } from '../../core/printable.ts';
import { type OpenStore, openRun, readRun, type Store } from '../store/store.ts';
import { isCode, storeError } from '../store/store-error.ts';
import type { ObjectStore } from './backend.ts';
import { discardStaged, fetchCopy, type FetchCopyOptions, type FetchedCopy } from './fetch-copy.ts';
import { type CopyWishes, newestCopies } from './newest-copies.ts';
import { readOwner } from './pointer.ts';
import { findNamed, isBadCopy, notFound, type RemoteCheckpoint } from './remote-checkpoint.ts';
import { settleRollback, takenOver, takeOver } from './remote-rollback.ts';

export interface FetchOptions extends FetchCopyOptions {
  /** The folder of the run, made when it is not there. */
  readonly folder: string;
  /** Only of those; all copies count without it. */
  readonly isWanted?: CopyWishes['isWanted'];
  /** What is going to be fetched. */
  readonly onFound?: (found: RemoteCheckpoint) => void;
  /** A decision to roll back that was not known here holds from now on. */
  readonly onDecision?: (sentence: string) => void;
  /** A newer copy is no good, and stays where it is: an older one is tried. */
  readonly onSkip?: (skipped: SkippedCopy) => void;
}

/** A copy that was not taken, and why. */
export interface SkippedCopy {
  readonly name: string;
  readonly code: ErrorCode;
  readonly reason: string;
}

export interface Fetched extends FetchedCopy {
  readonly durationMs: number;
  /** Newer copies that are no good. */
  readonly skipped: readonly SkippedCopy[];
}

/** Brings the copy that was named, or the newest that is good. */
export async function fetchCheckpoint(options: FetchOptions & { readonly checkpoint: string | null }): Promise<Fetched> {
  const { remote, folder, checkpoint, clock } = options;
  if (checkpoint === null) return (await fetchNewest(options)) ?? notFound(remote, null);
  const started = clock.monotonic();
  const found = await findNamed(remote, checkpoint);
  const fetched = await fetchCopy(openFolder(folder, found.manifest.run), found, options);
  return { ...fetched, durationMs: Math.round(clock.monotonic() - started), skipped: [] };
}

/**
 * Brings the newest copy that is good: the one that the pointer names, and where that one is not what was sealed, the next older one. What somebody has
 * rolled the run back from is passed by, and the decision holds in this folder too. Null when there is nothing that counts.
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
      for (const save of tried) await discardStaged(store, save, options);
      const skipped = [...bad.values()].map((one) => one.skipped);
      return { ...fetched, durationMs: Math.round(clock.monotonic() - started), skipped };
    } catch (thrown) {
      if (!isBadCopy(thrown)) throw thrown;
      tried.push(found.manifest.save);
      onBad(found.copy.name, thrown);
    }
  }
  const [first] = bad.values();
  if (first !== undefined) throw first.thrown;
  return null;
}

/** The folder when it is one of the run that the copies are of: then what was decided in it counts too. */
async function folderOfRun(folder: string, remote: ObjectStore): Promise<Store | null> {
  if (!existsSync(folder)) return null;
  const store = readRun(folder);
  return store.run !== null && store.run === (await readOwner(remote)) ? store : null;
}

/** The folder becomes one of this run; one of another is refused. */
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
    // A file in the way is told by who opens the folder.
    if (!isCode(thrown, 'EEXIST', 'ENOTDIR')) throw storeError(thrown, 'make', folder);
  }
}
