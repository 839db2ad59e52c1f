import { dirname } from 'node:path';
import { type CheckOptions, checkPresence } from './check-sealed.ts';
import { removeTree } from './delete-tree.ts';
import { lastGood, type LastGood, type LastGoodOptions } from './last-good.ts';
import { deleteFenced } from './fenced-leftovers.ts';
import { type Buried, digGrave, findBuried, finishDeletions, giveBack, isDeleted } from './graves.ts';
import { storeFailure } from './last-good-cache.ts';
import { at } from './layout.ts';
import { moveOut } from './move-out.ts';
import { listKept } from './pins.ts';
import { readManifestFile } from './read-seals.ts';
import { type Kept, planRetention, type Retention, type RetentionPlan } from './retention.ts';
import { isRolledBack, readRollback } from './rollback.ts';
import { sweepStaging } from './save-owner.ts';
import { newestFirst, type SealedCheckpoint } from './scan.ts';
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
    const buried = planBuried(store, found, retention);
    if (isDryRun) removed.push(...buried.flatMap(stuckIn), ...remove);
    else if (found.checkpoint !== null && !removeAll(store, found, { remove, buried }, removed) && round < MAX_ROUNDS) continue;
    return { lastGood: found, keep, removed, removedBytes: removed.reduce((sum, one) => sum + bytesOf(one), 0) };
  }
}

function planFor(
  store: Store,
  { scan, checkpoint, skipped }: LastGood,
  retention: Retention,
  stuck: readonly SealedCheckpoint[] = [],
): RetentionPlan {
  const passedBy = new Set(skipped.filter(({ quarantined }) => quarantined !== null).map(({ name }) => name));
  const { rollback } = scan;
  const among = (ones: readonly SealedCheckpoint[], isOut: boolean): readonly SealedCheckpoint[] =>
    [...ones, ...stuck.filter((one) => isRolledBack(one, rollback) === isOut)].toSorted(newestFirst);
  const sealed = among(
    scan.sealed.filter(({ name }) => !passedBy.has(name)),
    false,
  );
  const rolledBack = among(scan.rolledBack, true);
  return planRetention({ sealed, rolledBack, rollback, lastGood: checkpoint, pins: listKept(store), nowMs: store.clock.now() }, retention);
}

/** What of the trash goes too: what was replaced and is not kept; and what a full volume does not give back, where it would go as well if it had come back. */
function planBuried(store: Store, found: LastGood, retention: Retention): readonly Buried[] {
  const graves = findBuried(store);
  if (graves.length === 0) return graves;
  const kept = listKept(store);
  const remove = new Set(planFor(store, found, retention, graves.flatMap(stuckIn)).remove);
  return graves.filter(({ isReplaced, checkpoints }) =>
    isReplaced ? !checkpoints.some(({ name }) => kept.has(name)) : checkpoints.every((one) => remove.has(one)),
  );
}

function stuckIn({ isReplaced, checkpoints }: Buried): readonly SealedCheckpoint[] {
  return isReplaced ? [] : checkpoints;
}

export function bytesOf({ manifest }: SealedCheckpoint): number {
  return manifest.files.reduce((sum, { size }) => sum + size, 0);
}

interface Leaving {
  readonly remove: readonly SealedCheckpoint[];
  readonly buried: readonly Buried[];
}

/** Removes one after the other; false when what the plan rests on did not hold any more before all were gone. */
function removeAll(store: Store, plan: LastGood, { remove, buried }: Leaving, removed: SealedCheckpoint[]): boolean {
  if (remove.length + buried.length === 0) return true;
  makeDurable(store, plan.checkpoint);
  const isWanted = (checkpoint: SealedCheckpoint): boolean => !stands(store, plan.checkpoint) || isOverruled(store, plan, checkpoint);
  // Moving the others may need the room.
  for (const one of buried) {
    if (one.checkpoints.some(isWanted) || !deleteBuried(store, one)) return false;
    removed.push(...stuckIn(one));
  }
  for (const checkpoint of remove) {
    if (isWanted(checkpoint)) return false;
    if (discard(store, checkpoint, () => isWanted(checkpoint))) removed.push(checkpoint);
  }
  return stands(store, plan.checkpoint);
}

function deleteBuried(store: Store, buried: Buried): boolean {
  try {
    return isDeleted(store, buried);
  } catch (thrown) {
    throw storeFailure(store, thrown, 'delete', buried.grave);
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
