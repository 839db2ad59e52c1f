import { dirname } from 'node:path';
import { type CheckOptions, checkPresence } from '../folder/check-sealed.ts';
import { removeTree } from '../disk/delete-tree.ts';
import { lastGood, type LastGood, type LastGoodOptions } from '../resume/last-good.ts';
import { deleteFenced } from '../trash/fenced-leftovers.ts';
import { type Trashed, makeTrashEntry, findTrashed, finishDeletions, restoreFromTrash, deleteIfWhole } from '../trash/trash.ts';
import { storeFailure } from '../folder/last-good-cache.ts';
import { at } from '../../seal/names.ts';
import { moveOut } from '../trash/move-out.ts';
import { listKept } from './pins.ts';
import { readManifestFile } from '../folder/read-seals.ts';
import { type Kept, planRetention, type Retention, type RetentionPlan } from './retention.ts';
import { isRolledBack, readRollback } from '../folder/rollback.ts';
import { sweepStaging } from '../trash/save-owner.ts';
import { newestFirst, type SealedCheckpoint } from '../folder/scan.ts';
import type { Store } from '../folder/store.ts';
import { sweepTemporaries } from '../trash/temporaries.ts';

/** What prune may delete, and for whom. */
export interface PruneOptions extends Omit<LastGoodOptions, 'isReadOnly' | 'isDoubtRefused'> {
  readonly retention: Retention;
  /** Report the plan, change nothing. */
  readonly isDryRun?: boolean;
  /** The newest attempt needs room: prune also deletes the staging of the attempt before it. */
  readonly isRoomNeeded?: boolean;
}

/** The report of a prune. */
export interface Pruned {
  readonly lastGood: LastGood;
  readonly keep: readonly Kept[];
  /** What prune deleted, or with a dry run what it would delete. */
  readonly removed: readonly SealedCheckpoint[];
  readonly removedBytes: number;
}

/** How often prune makes a trash entry again that another process has removed. */
const MAX_ENTRIES = 3;
/** Each further round needs a last good checkpoint that turned bad meanwhile. */
const MAX_ROUNDS = 20;

/**
 * Deletes the checkpoints that retention does not keep. Prune first verifies the last good one:
 * without it nothing goes, and only older ones can go. It checks that one again before every single
 * deletion. If it turned bad, prune makes a new plan with the next older one. A deletion moves to
 * the trash, syncs, and then deletes.
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
    const trashed = planTrashed(store, found, retention);
    if (isDryRun) removed.push(...trashed.flatMap(stuckIn), ...remove);
    else if (found.checkpoint !== null && !removeAll(store, found, { remove, trashed }, removed) && round < MAX_ROUNDS) continue;
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

/**
 * Lists the trash entries to delete. These are replaced ones that no pin keeps, and those that a
 * full volume cannot restore and the plan would delete too.
 */
function planTrashed(store: Store, found: LastGood, retention: Retention): readonly Trashed[] {
  const entries = findTrashed(store);
  if (entries.length === 0) return entries;
  const kept = listKept(store);
  const remove = new Set(planFor(store, found, retention, entries.flatMap(stuckIn)).remove);
  return entries.filter(({ isReplaced, checkpoints }) =>
    isReplaced ? !checkpoints.some(({ name }) => kept.has(name)) : checkpoints.every((one) => remove.has(one)),
  );
}

function stuckIn({ isReplaced, checkpoints }: Trashed): readonly SealedCheckpoint[] {
  return isReplaced ? [] : checkpoints;
}

/** The size of all files of a checkpoint. */
export function bytesOf({ manifest }: SealedCheckpoint): number {
  return manifest.files.reduce((sum, { size }) => sum + size, 0);
}

interface Leaving {
  readonly remove: readonly SealedCheckpoint[];
  readonly trashed: readonly Trashed[];
}

/**
 * Deletes one checkpoint after the other; false when the basis of the plan stopped holding before
 * the end.
 */
function removeAll(store: Store, plan: LastGood, { remove, trashed }: Leaving, removed: SealedCheckpoint[]): boolean {
  if (remove.length + trashed.length === 0) return true;
  makeDurable(store, plan.checkpoint);
  const isWanted = (checkpoint: SealedCheckpoint): boolean => !stands(store, plan.checkpoint) || isOverruled(store, plan, checkpoint);
  // The moves of the others may need the room of these.
  for (const one of trashed) {
    if (one.checkpoints.some(isWanted) || !deleteTrashed(store, one)) return false;
    removed.push(...stuckIn(one));
  }
  for (const checkpoint of remove) {
    if (isWanted(checkpoint)) return false;
    if (discard(store, checkpoint, () => isWanted(checkpoint))) removed.push(checkpoint);
  }
  return stands(store, plan.checkpoint);
}

function deleteTrashed(store: Store, trashed: Trashed): boolean {
  try {
    return deleteIfWhole(store, trashed);
  } catch (thrown) {
    throw storeFailure(store, thrown, 'delete', trashed.entry);
  }
}

/**
 * True when a person has pinned it meanwhile, or has rolled the run back, perhaps to this very one.
 */
function isOverruled(store: Store, { scan: { rollback } }: LastGood, { name }: SealedCheckpoint): boolean {
  return listKept(store).has(name) || JSON.stringify(readRollback(store)) !== JSON.stringify(rollback);
}

/**
 * Makes the kept checkpoint durable before anything else goes: its writer may have died before its
 * last sync.
 */
function makeDurable(store: Store, keeper: SealedCheckpoint | null): void {
  const { fs, path } = store;
  try {
    // The seal of an adopted checkpoint came into an existing folder.
    if (keeper?.kind === 'directory' && keeper.manifest.origin === 'adopted') fs.fsyncFolder(dirname(keeper.manifestFile));
    fs.fsyncFolder(path);
  } catch (thrown) {
    throw storeFailure(store, thrown, 'make durable the names in', path);
  }
}

/** True when the seal is there and names and sizes match it. */
function stands(store: Store, keeper: SealedCheckpoint | null): boolean {
  return keeper !== null && isSealed(store, keeper) && checkPresence(store, keeper) === null;
}

function isSealed({ fs }: Store, { manifestFile, manifest: { save } }: SealedCheckpoint): boolean {
  const parsed = readManifestFile(fs, manifestFile);
  return parsed?.ok === true && parsed.manifest.save === save;
}

/**
 * Deletes one checkpoint. False when another prune was quicker, or when it became wanted just
 * before its move.
 */
function discard(store: Store, checkpoint: SealedCheckpoint, isWanted: () => boolean): boolean {
  const { fs, path } = store;
  try {
    const entry = moveToEntry(store, checkpoint);
    if (entry === null || !mayGo(store, entry, isWanted)) return false;
    // The names go for good before any file: a crash must not bring back half a checkpoint.
    fs.fsyncFolder(path);
    if (fs.stat(entry) !== null) fs.fsyncFolder(entry);
    removeTree(fs, entry);
    fs.fsyncFolder(at.store(path, 'trash'));
    // A process on another machine may have taken the entry for abandoned, and restored the
    // checkpoint.
    return !isSealed(store, checkpoint);
  } catch (thrown) {
    throw storeFailure(store, thrown, 'delete', checkpoint.path);
  }
}

/**
 * Checks a second time, after the move. If that check fails, the checkpoint comes back before the
 * caller gets the error.
 */
function mayGo(store: Store, entry: string, isWanted: () => boolean): boolean {
  let isFree = false;
  try {
    isFree = !isWanted();
  } finally {
    if (!isFree) restoreFromTrash(store, entry);
  }
  return isFree;
}

/**
 * Moves a checkpoint to a new trash entry, null when it is gone. A process on another machine may
 * remove an empty entry first.
 */
function moveToEntry(store: Store, checkpoint: SealedCheckpoint): string | null {
  const { fs } = store;
  for (let tries = 0; tries < MAX_ENTRIES; tries++) {
    const entry = makeTrashEntry(store, checkpoint.manifest.save, checkpoint.kind);
    if (moveOrGiveBack(store, checkpoint, entry)) return entry;
    removeTree(fs, entry);
    if (fs.stat(checkpoint.manifestFile) === null) break;
  }
  return null;
}

/** Moves a checkpoint out; after an error it also restores the parts that it moved. */
function moveOrGiveBack(store: Store, checkpoint: SealedCheckpoint, entry: string): boolean {
  let isKnown = false;
  try {
    const isMoved = moveOut(store, checkpoint, entry);
    isKnown = true;
    return isMoved;
  } finally {
    if (!isKnown) restoreFromTrash(store, entry);
  }
}

/**
 * Finishes interrupted deletions, and removes the staging and temporaries of dead processes, except
 * the received folder `spared`.
 */
export async function tidyUp(store: Store, { spared, ...options }: CheckOptions & { readonly spared?: string }): Promise<void> {
  const { run } = store;
  if (run !== null) sweepStaging({ ...store, run });
  sweepTemporaries(store, spared);
  await finishDeletions(store, options);
}
