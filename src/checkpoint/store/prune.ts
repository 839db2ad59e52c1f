import { dirname } from 'node:path';
import { type CheckOptions, checkPresence } from './check-sealed.ts';
import { removeTree } from './delete-tree.ts';
import { lastGood, type LastGood, type LastGoodOptions } from './last-good.ts';
import { deleteFenced } from './fenced-leftovers.ts';
import { digGrave, finishDeletions, giveBack, replacedGraves } from './graves.ts';
import { storeFailure } from './last-good-cache.ts';
import { at } from './layout.ts';
import { moveOut } from './move-out.ts';
import { listKept } from './pins.ts';
import { readManifestFile } from './read-seals.ts';
import { type Kept, planRetention, type Retention, type RetentionPlan } from './retention.ts';
import { readRollback } from './rollback.ts';
import { sweepStaging } from './save-owner.ts';
import type { SealedCheckpoint } from './scan.ts';
import type { Store } from './store.ts';
import { sweepTemporaries } from './temporaries.ts';

export interface PruneOptions extends Omit<LastGoodOptions, 'isReadOnly' | 'isDoubtRefused'> {
  readonly retention: Retention;
  /** Tell what would go, change nothing. */
  readonly isDryRun?: boolean;
  /** The newest attempt itself asks, for room: also what the one before it has left staged goes. */
  readonly isRoomNeeded?: boolean;
}

export interface Pruned {
  readonly lastGood: LastGood;
  readonly keep: readonly Kept[];
  /** What went, or with a dry run what would. */
  readonly removed: readonly SealedCheckpoint[];
  readonly removedBytes: number;
}

/** As often a grave is dug again that another has taken away. */
const MAX_GRAVES = 3;
/** Each further round needs a last good checkpoint that went bad meanwhile. */
const MAX_ROUNDS = 20;

/**
 * Deletes the checkpoints that retention does not ask for. First the last good one is verified; without one nothing goes, and only older ones
 * can go. It is looked at again before every single deletion: should it turn out bad meanwhile, the next older one takes its place, and the
 * plan is made anew. Deleting is: move to the trash, sync, delete.
 */
export async function prune(store: Store, options: PruneOptions): Promise<Pruned> {
  const { retention, isDryRun = false, isRoomNeeded = false, ...how } = options;
  const removed: SealedCheckpoint[] = [];
  if (!isDryRun) await tidyUp(store, how);
  for (let round = 0; ; round++) {
    options.signal?.throwIfAborted();
    const found = await lastGood(store, { ...how, isReadOnly: isDryRun, isDoubtRefused: true });
    if (!isDryRun) deleteFenced(store, isRoomNeeded ? null : found.scan);
    const { keep, remove } = planFor(store, found, retention);
    if (isDryRun) removed.push(...remove);
    else if (found.checkpoint !== null && !removeAll(store, found, remove, removed) && round < MAX_ROUNDS) continue;
    return { lastGood: found, keep, removed, removedBytes: removed.reduce((sum, one) => sum + bytesOf(one), 0) };
  }
}

function planFor(store: Store, { scan, checkpoint, skipped }: LastGood, retention: Retention): RetentionPlan {
  const passedBy = new Set(skipped.filter(({ quarantined }) => quarantined !== null).map(({ name }) => name));
  const sealed = scan.sealed.filter(({ name }) => !passedBy.has(name));
  const { rolledBack, rollback } = scan;
  return planRetention({ sealed, rolledBack, rollback, lastGood: checkpoint, pins: listKept(store), nowMs: store.clock.now() }, retention);
}

export function bytesOf({ manifest }: SealedCheckpoint): number {
  return manifest.files.reduce((sum, { size }) => sum + size, 0);
}

/** Removes one after the other; false when what the plan rests on did not hold any more before all were gone. */
function removeAll(store: Store, plan: LastGood, remove: readonly SealedCheckpoint[], removed: SealedCheckpoint[]): boolean {
  const replaced = replacedGraves(store, listKept(store));
  if (remove.length + replaced.length > 0) makeDurable(store, plan.checkpoint);
  if (stands(store, plan.checkpoint)) for (const grave of replaced) deleteGrave(store, grave);
  for (const checkpoint of remove) {
    const isWanted = (): boolean => !stands(store, plan.checkpoint) || isOverruled(store, plan, checkpoint);
    if (isWanted()) return false;
    if (discard(store, checkpoint, isWanted)) removed.push(checkpoint);
  }
  return remove.length === 0 || stands(store, plan.checkpoint);
}

function deleteGrave(store: Store, grave: string): void {
  try {
    removeTree(store.fs, grave);
  } catch (thrown) {
    throw storeFailure(store, thrown, 'delete', grave);
  }
}

/** A person has pinned it meanwhile, or rolled the run back, perhaps to this very one. */
function isOverruled(store: Store, { scan: { rollback } }: LastGood, { name }: SealedCheckpoint): boolean {
  return listKept(store).has(name) || JSON.stringify(readRollback(store)) !== JSON.stringify(rollback);
}

/** What is kept must be there after a crash before anything else goes: its writer may have died before its last sync. */
function makeDurable(store: Store, keeper: SealedCheckpoint | null): void {
  const { fs, path } = store;
  try {
    // The seal of what was adopted came into a folder that was there.
    if (keeper?.kind === 'directory' && keeper.manifest.origin === 'adopted') fs.fsyncFolder(dirname(keeper.manifestFile));
    fs.fsyncFolder(path);
  } catch (thrown) {
    throw storeFailure(store, thrown, 'make durable the names in', path);
  }
}

/** The seal is there and names and sizes are as it says. */
function stands(store: Store, keeper: SealedCheckpoint | null): boolean {
  return keeper !== null && isSealed(store, keeper) && checkPresence(store, keeper) === null;
}

function isSealed({ fs }: Store, { manifestFile, manifest: { save } }: SealedCheckpoint): boolean {
  const parsed = readManifestFile(fs, manifestFile);
  return parsed?.ok === true && parsed.manifest.save === save;
}

/** False when there was nothing to delete any more: another prune was quicker; or when it came to be wanted just before it was moved. */
function discard(store: Store, checkpoint: SealedCheckpoint, isWanted: () => boolean): boolean {
  const { fs, path } = store;
  try {
    const grave = moveToGrave(store, checkpoint);
    if (grave === null || !mayGo(store, grave, isWanted)) return false;
    // Nothing is deleted before the names are gone for good: a crash must not bring back half of it.
    fs.fsyncFolder(path);
    if (fs.stat(grave) !== null) fs.fsyncFolder(grave);
    removeTree(fs, grave);
    fs.fsyncFolder(at.store(path, 'trash'));
    // Somebody on another machine may have taken the grave for abandoned, and brought it back.
    return !isSealed(store, checkpoint);
  } catch (thrown) {
    throw storeFailure(store, thrown, 'delete', checkpoint.path);
  }
}

/** The second look, after the move. What nobody can tell of is wanted: it comes back before anybody hears of the error. */
function mayGo(store: Store, grave: string, isWanted: () => boolean): boolean {
  let isFree = false;
  try {
    isFree = !isWanted();
  } finally {
    if (!isFree) giveBack(store, grave);
  }
  return isFree;
}

/** Null when it is not there any more. One on another machine may take an empty grave away before anything lies in it. */
function moveToGrave(store: Store, checkpoint: SealedCheckpoint): string | null {
  const { fs } = store;
  for (let tries = 0; tries < MAX_GRAVES; tries++) {
    const grave = digGrave(store, checkpoint.manifest.save, checkpoint.kind);
    if (moveOrGiveBack(store, checkpoint, grave)) return grave;
    removeTree(fs, grave);
    if (fs.stat(checkpoint.manifestFile) === null) break;
  }
  return null;
}

/** What was moved before an error comes back too. */
function moveOrGiveBack(store: Store, checkpoint: SealedCheckpoint, grave: string): boolean {
  let isKnown = false;
  try {
    const isMoved = moveOut(store, checkpoint, grave);
    isKnown = true;
    return isMoved;
  } finally {
    if (!isKnown) giveBack(store, grave);
  }
}

/** Ends deletions that were interrupted, and removes what dead processes had staged or begun to make; not what was received into the folder `spared`. */
export async function tidyUp(store: Store, { spared, ...options }: CheckOptions & { readonly spared?: string }): Promise<void> {
  const { run } = store;
  if (run !== null) sweepStaging({ ...store, run });
  sweepTemporaries(store, spared);
  await finishDeletions(store, options);
}
