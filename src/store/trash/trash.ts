import { basename, join } from 'node:path';
import { threadId } from 'node:worker_threads';
import type { CheckOptions } from '../folder/check-sealed.ts';
import { removeTree } from '../disk/delete-tree.ts';
import { digestOf, SPARED, stateOf } from './trash-state.ts';
import { at } from '../../seal/names.ts';
import { moveBack } from './move-out.ts';
import { type DeletionLeftovers, leftoversOf, takeLeftovers } from './deletion-leftovers.ts';
import { isSeenAlive } from '../disk/process-identity.ts';
import { type FoundSeal, readSeals } from '../folder/read-seals.ts';
import type { SealedCheckpoint } from '../folder/scan.ts';
import type { Store } from '../folder/store.ts';
import { isCode, isFull, storeError } from '../disk/store-error.ts';

/**
 * A deletion first moves its checkpoint to the trash in one step, each into an entry of its own. A
 * reader of it then finds all of it gone, never half. The name of an entry holds its owner, so that
 * no process empties the entry of a live one. It also holds the save that the entry was made for: a
 * new checkpoint under the same name is never deleted.
 */

/** Separates the parts of an entry's name; no part can contain it. */
const SEPARATOR = '~';

function entryName({ makeId, owner }: Store, digest: string): string {
  return [makeId(), digest, owner ?? '', threadId].join(SEPARATOR);
}

/**
 * Makes a trash entry for a checkpoint, named by its save. For a single-file checkpoint, which
 * moves name by name, the entry is durable first: its content says what is still to follow.
 */
export function makeTrashEntry(store: Store, save: string, kind: FoundSeal['kind']): string {
  const { fs, path } = store;
  const entry = at.store(path, 'trash', entryName(store, digestOf(save)));
  fs.mkdir(entry);
  if (kind === 'files') fs.fsyncFolder(at.store(path, 'trash'));
  return entry;
}

/**
 * Restores a checkpoint that became wanted after its move. If that fails the entry stays, and the
 * next prune retries.
 */
export function restoreFromTrash(store: Store, entry: string): void {
  const spared = at.store(store.path, 'trash', entryName(store, SPARED));
  const where = tryRename(store, entry, spared) ? spared : entry;
  // A process on another machine took the entry for abandoned and has restored it already.
  if (store.fs.stat(where) !== null) bringBack(store, where);
}

/** Deletes a folder that is no checkpoint; another process may do the same at the same time. */
export function discardFolder(store: Store, folder: string): void {
  const entry = at.store(store.path, 'trash', entryName(store, ''));
  removeTree(store.fs, tryRename(store, folder, entry) ? entry : folder);
}

/**
 * Renames; false on failure, also on a volume too full to change a name: then room matters more
 * than the one step.
 */
function tryRename({ fs }: Store, from: string, to: string): boolean {
  try {
    fs.rename(from, to);
    return true;
  } catch {
    return false;
  }
}

/**
 * Finishes interrupted deletions, except those of a live process. A checkpoint that is still whole
 * comes back: its prune died before its second check, and the next prune makes a new plan. Of any
 * other the rest is deleted. An entry with leftovers in the run's folder waits for {@link
 * finishDeletions}, which reads them first.
 */
export function emptyTrash(store: Store): void {
  empty(store, (name) => leftoversIn(store, name) === null);
}

/**
 * Like {@link emptyTrash}, and also reads and moves leftovers; true when a checkpoint came back.
 */
export async function finishDeletions(store: Store, options: CheckOptions = {}): Promise<boolean> {
  const unknown = new Set<string>();
  for (const name of abandoned(store)) {
    const leftovers = leftoversIn(store, name);
    if (leftovers !== null && !(await followTo(store, name, leftovers, options))) unknown.add(name);
  }
  return empty(store, (name) => !unknown.has(name));
}

/** Whole checkpoints in an entry whose owner is dead. */
export interface Trashed {
  readonly entry: string;
  /** Another file has one of its names by now, so it cannot come back. */
  readonly isReplaced: boolean;
  readonly checkpoints: readonly SealedCheckpoint[];
}

/**
 * Lists the whole checkpoints that stay in the trash, because their name is taken or the volume is
 * too full.
 */
export function findTrashed(store: Store): readonly Trashed[] {
  const { fs, path } = store;
  const trash = at.store(path, 'trash');
  try {
    return abandoned(store)
      .filter((name) => stateOf(store, join(trash, name), digestIn(name)) === 'whole')
      .map((name) => {
        const entry = join(trash, name);
        const isReplaced = fs.list(entry).some((one) => fs.stat(join(path, one)) !== null);
        return { entry, isReplaced, checkpoints: readSeals(fs, entry).flatMap((seal) => asCheckpoint(store, entry, seal)) };
      });
  } catch (thrown) {
    throw storeError(thrown, 'look at', trash);
  }
}

function asCheckpoint({ path }: Store, entry: string, { name, kind, manifestFile, parsed }: FoundSeal): readonly SealedCheckpoint[] {
  const root = kind === 'directory' ? join(entry, name) : entry;
  return parsed.ok ? [{ name, path: join(path, name), kind, root, manifestFile, manifest: parsed.manifest }] : [];
}

/**
 * Restores or deletes a trash entry; false when it did not delete. Call this only after a good
 * checkpoint is verified and durable. A restored checkpoint belongs in a new plan. One that cannot
 * come back is deleted if it is whole.
 */
export function deleteIfWhole(store: Store, { entry, isReplaced }: Trashed): boolean {
  const stuck = isReplaced ? entry : settle(store, basename(entry)).stuck;
  if (stuck === null || stateOf(store, stuck, digestIn(basename(stuck))) !== 'whole') return false;
  removeTree(store.fs, stuck);
  return true;
}

/**
 * Moves the leftovers to their seal; true when all are moved. The killed prune may have skipped its
 * syncs: after a crash there must be no seal without its files.
 */
async function followTo(store: Store, name: string, leftovers: DeletionLeftovers, options: CheckOptions): Promise<boolean> {
  const { fs, path } = store;
  const trash = at.store(path, 'trash');
  try {
    fs.fsyncFolder(trash);
    fs.fsyncFolder(path);
    const entry = at.store(path, 'trash', name);
    const outcome = await takeLeftovers(store, entry, leftovers, options);
    if (outcome === 'another') restoreFromTrash(store, entry);
    return outcome === 'taken';
  } catch (thrown) {
    if (isFull(thrown)) return false;
    throw storeError(thrown, 'empty', trash);
  }
}

/** Settles every abandoned entry that may go; true when a checkpoint came back. */
function empty(store: Store, mayGo: (name: string) => boolean): boolean {
  const { fs, path } = store;
  const trash = at.store(path, 'trash');
  try {
    const entries = abandoned(store).filter(mayGo);
    // The killed prune may have skipped its sync: a crash must not bring back half a checkpoint.
    if (entries.length > 0) fs.fsyncFolder(path);
    return entries.map((name) => settle(store, name).isBack).includes(true);
  } catch (thrown) {
    throw storeError(thrown, 'empty', trash);
  }
}

/** Lists the entries that no live process owns. */
function abandoned(store: Store): readonly string[] {
  return namesIn(store, at.store(store.path, 'trash')).filter((name) => !isInUse(store, name));
}

function digestIn(name: string): string {
  return name.split(SEPARATOR)[1] ?? '';
}

function leftoversIn(store: Store, name: string): DeletionLeftovers | null {
  const digest = digestIn(name);
  return leftoversOf(store, at.store(store.path, 'trash', name), (save) => digestOf(save) === digest);
}

function namesIn({ fs }: Store, folder: string): readonly string[] {
  try {
    return fs.list(folder);
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT')) return [];
    throw thrown;
  }
}

function isInUse(store: Store, name: string): boolean {
  const [, , owner = ''] = name.split(SEPARATOR);
  return !isOwn(store, name) && isSeenAlive(owner, store.owner);
}

function isOwn({ owner: self }: Store, name: string): boolean {
  const [, , owner = '', thread] = name.split(SEPARATOR);
  return owner === self && thread === String(threadId);
}

interface Settled {
  /** A checkpoint came back. */
  readonly isBack: boolean;
  /** The entry that a full volume cannot restore. */
  readonly stuck: string | null;
}

const LEFT: Settled = { isBack: false, stuck: null };

/** Deletes the rest in an entry, or restores its whole checkpoint. */
function settle(store: Store, name: string): Settled {
  let entry = at.store(store.path, 'trash', name);
  const digest = digestIn(name);
  try {
    const before = stateOf(store, entry, digest);
    if (before === 'unknown') return LEFT;
    if (before === 'rest') {
      removeTree(store.fs, entry);
      return LEFT;
    }
    if (before === 'whole' && !isOwn(store, name)) entry = takenOver(store, entry, digest);
    // The owner may have deleted more until the takeover.
    return stateOf(store, entry, digest) === before ? { isBack: bringBack(store, entry), stuck: null } : LEFT;
  } catch (thrown) {
    // A full volume must not keep prune from making room.
    if (isFull(thrown)) return { isBack: false, stuck: entry };
    // A process on another machine changes the entry at the same time, or the name to restore is
    // taken.
    if (!isCode(thrown, 'ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR')) throw thrown;
    return LEFT;
  }
}

/**
 * Renames an entry to a name of this process, so that an invisible owner on another machine finds
 * nothing to delete.
 */
function takenOver(store: Store, entry: string, digest: string): string {
  const own = at.store(store.path, 'trash', entryName(store, digest));
  return tryRename(store, entry, own) ? own : entry;
}

/** Restores an entry; false where one of its names is taken: then the entry stays. */
function bringBack(store: Store, entry: string): boolean {
  const { fs, path } = store;
  const names = fs.list(entry);
  if (names.some((name) => fs.stat(join(path, name)) !== null)) return false;
  moveBack(store, entry, names);
  fs.fsyncFolder(path);
  fs.rmdir(entry);
  return names.length > 0;
}
