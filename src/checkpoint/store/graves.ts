import { basename, join } from 'node:path';
import { threadId } from 'node:worker_threads';
import type { CheckOptions } from './check-sealed.ts';
import { removeTree } from './delete-tree.ts';
import { digestOf, SPARED, stateOf } from './grave-state.ts';
import { at } from './layout.ts';
import { moveBack } from './move-out.ts';
import { type Orphans, orphansOf, takeOrphans } from './orphans.ts';
import { isSeenAlive } from './process-identity.ts';
import { type FoundSeal, readSeals } from './read-seals.ts';
import type { SealedCheckpoint } from './scan.ts';
import type { Store } from './store.ts';
import { isCode, isFull, storeError } from './store-error.ts';

/**
 * What is deleted goes to the trash in one step first, each into a grave of its own: whoever still works with it finds all of it gone, never half.
 * The name of a grave tells whose it is, so that nobody empties that of another who is at work, and which save it was dug for: somebody may have
 * committed another checkpoint under the same name meanwhile, and that one is never deleted.
 */

/** Parts of a grave's name; none of them can hold it. */
const SEPARATOR = '~';

function graveName({ makeId, owner }: Store, digest: string): string {
  return [makeId(), digest, owner ?? '', threadId].join(SEPARATOR);
}

/**
 * Makes a grave for a checkpoint, named by its save. For one that goes name by name it is there for good first: what lies in it tells of what is
 * still to come.
 */
export function digGrave(store: Store, save: string, kind: FoundSeal['kind']): string {
  const { fs, path } = store;
  const grave = at.store(path, 'trash', graveName(store, digestOf(save)));
  fs.mkdir(grave);
  if (kind === 'files') fs.fsyncFolder(at.store(path, 'trash'));
  return grave;
}

/** Brings back what came to be wanted after it was moved here. Where that fails the grave stays, and the next who empties the trash tries it again. */
export function giveBack(store: Store, grave: string): void {
  const spared = at.store(store.path, 'trash', graveName(store, SPARED));
  const where = isMoved(store, grave, spared) ? spared : grave;
  // Somebody on another machine who took it for abandoned has brought it back already.
  if (store.fs.stat(where) !== null) bringBack(store, where);
}

/** Deletes a folder that is no checkpoint. Somebody else may do the same at the same time. */
export function bury(store: Store, folder: string): void {
  const grave = at.store(store.path, 'trash', graveName(store, ''));
  removeTree(store.fs, isMoved(store, folder, grave) ? grave : folder);
}

/** False also on a volume so full that not even a name can be changed: then room matters more than the one step. */
function isMoved({ fs }: Store, from: string, to: string): boolean {
  try {
    fs.rename(from, to);
    return true;
  } catch {
    return false;
  }
}

/**
 * Ends deletions that were interrupted. Those of a process that is seen at work are its own. A checkpoint that is still whole comes back: whoever moved it
 * here did not live to look whether it was wanted by then, and the next prune decides anew. Of any other the rest is deleted. What of a checkpoint still lies in
 * the run's folder must be read before it goes: its grave is left to {@link finishDeletions}.
 */
export function emptyTrash(store: Store): void {
  empty(store, (name) => orphansIn(store, name) === null);
}

/** The same, for who has time to read; true when something came back. */
export async function finishDeletions(store: Store, options: CheckOptions = {}): Promise<boolean> {
  const unknown = new Set<string>();
  for (const name of abandoned(store)) {
    const orphans = orphansIn(store, name);
    if (orphans !== null && !(await followTo(store, name, orphans, options))) unknown.add(name);
  }
  return empty(store, (name) => !unknown.has(name));
}

/** A whole checkpoint in a grave whose owner is gone. */
export interface Buried {
  readonly grave: string;
  /** Another has a name of it by now: it cannot come back. */
  readonly isReplaced: boolean;
  readonly checkpoints: readonly SealedCheckpoint[];
}

/** What lies in the trash and has not come back, because another has its name, or because the volume is too full. */
export function findBuried(store: Store): readonly Buried[] {
  const { fs, path } = store;
  const trash = at.store(path, 'trash');
  try {
    return abandoned(store)
      .filter((name) => stateOf(store, join(trash, name), digestIn(name)) === 'whole')
      .map((name) => {
        const grave = join(trash, name);
        const isReplaced = fs.list(grave).some((one) => fs.stat(join(path, one)) !== null);
        return { grave, isReplaced, checkpoints: readSeals(fs, grave).flatMap((seal) => asCheckpoint(store, grave, seal)) };
      });
  } catch (thrown) {
    throw storeError(thrown, 'look at', trash);
  }
}

function asCheckpoint({ path }: Store, grave: string, { name, kind, manifestFile, parsed }: FoundSeal): readonly SealedCheckpoint[] {
  const root = kind === 'directory' ? join(grave, name) : grave;
  return parsed.ok ? [{ name, path: join(path, name), kind, root, manifestFile, manifest: parsed.manifest }] : [];
}

/**
 * For who has seen that a good one stands, and has made that durable. What can come back by now does, and is to be planned for like any other; what cannot is
 * deleted as long as it is whole. False when it was not.
 */
export function isDeleted(store: Store, { grave, isReplaced }: Buried): boolean {
  const stuck = isReplaced ? grave : settle(store, basename(grave)).stuck;
  if (stuck === null || stateOf(store, stuck, digestIn(basename(stuck))) !== 'whole') return false;
  removeTree(store.fs, stuck);
  return true;
}

/** Whoever moved the seal may have died before its syncs: after a crash there must be no seal without its files. */
async function followTo(store: Store, name: string, orphans: Orphans, options: CheckOptions): Promise<boolean> {
  const { fs, path } = store;
  const trash = at.store(path, 'trash');
  try {
    fs.fsyncFolder(trash);
    fs.fsyncFolder(path);
    const grave = at.store(path, 'trash', name);
    const outcome = await takeOrphans(store, grave, orphans, options);
    if (outcome === 'another') giveBack(store, grave);
    return outcome === 'taken';
  } catch (thrown) {
    if (isFull(thrown)) return false;
    throw storeError(thrown, 'empty', trash);
  }
}

/** True when something came back. */
function empty(store: Store, mayGo: (name: string) => boolean): boolean {
  const { fs, path } = store;
  const trash = at.store(path, 'trash');
  try {
    const graves = abandoned(store).filter(mayGo);
    // Whoever moved it here may have died before its old name was gone for good: a crash must not bring back half of it.
    if (graves.length > 0) fs.fsyncFolder(path);
    return graves.map((name) => settle(store, name).isBack).includes(true);
  } catch (thrown) {
    throw storeError(thrown, 'empty', trash);
  }
}

/** Graves that nobody who is seen at work has dug. */
function abandoned(store: Store): readonly string[] {
  return namesIn(store, at.store(store.path, 'trash')).filter((name) => !isInUse(store, name));
}

function digestIn(name: string): string {
  return name.split(SEPARATOR)[1] ?? '';
}

function orphansIn(store: Store, name: string): Orphans | null {
  const digest = digestIn(name);
  return orphansOf(store, at.store(store.path, 'trash', name), (save) => digestOf(save) === digest);
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
  /** Something came back. */
  readonly isBack: boolean;
  /** Where that lies still for which the volume is too full. */
  readonly stuck: string | null;
}

const LEFT: Settled = { isBack: false, stuck: null };

/** Empties a grave, or brings back what lies in it. */
function settle(store: Store, name: string): Settled {
  let grave = at.store(store.path, 'trash', name);
  const digest = digestIn(name);
  try {
    const before = stateOf(store, grave, digest);
    if (before === 'unknown') return LEFT;
    if (before === 'rest') {
      removeTree(store.fs, grave);
      return LEFT;
    }
    if (before === 'whole' && !isOwn(store, name)) grave = takenOver(store, grave, digest);
    // Whoever dug it may have gone on deleting until then.
    return stateOf(store, grave, digest) === before ? { isBack: bringBack(store, grave), stuck: null } : LEFT;
  } catch (thrown) {
    // It must not keep a prune from making room.
    if (isFull(thrown)) return { isBack: false, stuck: grave };
    // Somebody on another machine fills or empties it at the same time; or the name that something is to come back to is taken.
    if (!isCode(thrown, 'ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR')) throw thrown;
    return LEFT;
  }
}

/** Gives a grave a name of ours: whoever dug it on a machine that is not seen from here finds nothing to delete any more. */
function takenOver(store: Store, grave: string, digest: string): string {
  const own = at.store(store.path, 'trash', graveName(store, digest));
  return isMoved(store, grave, own) ? own : grave;
}

/** False where a name of it is taken: then it stays. */
function bringBack(store: Store, grave: string): boolean {
  const { fs, path } = store;
  const names = fs.list(grave);
  if (names.some((name) => fs.stat(join(path, name)) !== null)) return false;
  moveBack(store, grave, names);
  fs.fsyncFolder(path);
  fs.rmdir(grave);
  return names.length > 0;
}
