import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import type { CheckOptions } from './check-sealed.ts';
import { removeTree } from './delete-tree.ts';
import { at } from './layout.ts';
import { moveBack } from './move-out.ts';
import { type Orphans, orphansOf, takeOrphans } from './orphans.ts';
import { isSeenAlive } from './process-identity.ts';
import { type FoundSeal, readSeals } from './read-seals.ts';
import type { Store } from './store.ts';
import { isCode, storeError } from './store-error.ts';

/**
 * What is deleted goes to the trash in one step first, each into a grave of its own: whoever still works with it finds all of it gone, never half.
 * The name of a grave tells whose it is, so that nobody empties that of another who is at work, and which save it was dug for: somebody may have
 * committed another checkpoint under the same name meanwhile, and that one is never deleted.
 */

/** Parts of a grave's name; none of them can hold it. */
const SEPARATOR = '~';
/** In place of a save: what lies here is not to be deleted. */
const SPARED = 'spared';

function graveName({ makeId, owner }: Store, digest: string): string {
  return [makeId(), digest, owner ?? '', threadId].join(SEPARATOR);
}

/** Saves may be called anything, also by whoever made a manifest elsewhere. */
function digestOf(save: string): string {
  return createHash('sha256').update(save).digest('hex').slice(0, 16);
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
  bringBack(store, isMoved(store, grave, spared) ? spared : grave);
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
 * Finishes deletions that were interrupted. Those of a process that is seen at work are its own. What of a checkpoint still lies in the run's folder
 * must be read before it goes: its grave is left to {@link finishDeletions}.
 */
export function emptyTrash(store: Store): void {
  empty(store, (name) => orphansIn(store, name) === null);
}

/** The same, for who has time to read. */
export async function finishDeletions(store: Store, options: CheckOptions = {}): Promise<void> {
  const unknown = new Set<string>();
  for (const name of abandoned(store)) {
    const orphans = orphansIn(store, name);
    if (orphans !== null && !(await followTo(store, name, orphans, options))) unknown.add(name);
  }
  empty(store, (name) => !unknown.has(name));
}

/** Whoever moved the seal may have died before its syncs: after a crash there must be no seal without its files. */
async function followTo(store: Store, name: string, orphans: Orphans, options: CheckOptions): Promise<boolean> {
  const { fs, path } = store;
  const trash = at.store(path, 'trash');
  try {
    fs.fsyncFolder(trash);
    fs.fsyncFolder(path);
    return await takeOrphans(store, at.store(path, 'trash', name), orphans, options);
  } catch (thrown) {
    throw storeError(thrown, 'empty', trash);
  }
}

function empty(store: Store, mayGo: (name: string) => boolean): void {
  const { fs, path } = store;
  const trash = at.store(path, 'trash');
  try {
    const graves = abandoned(store).filter(mayGo);
    // Whoever moved it here may have died before its old name was gone for good: a crash must not bring back half of it.
    if (graves.length > 0) fs.fsyncFolder(path);
    for (const name of graves) emptyGrave(store, name);
  } catch (thrown) {
    throw storeError(thrown, 'empty', trash);
  }
}

/** Graves that nobody who is seen at work has dug. */
function abandoned(store: Store): readonly string[] {
  return namesIn(store, at.store(store.path, 'trash')).filter((name) => !isInUse(store, name));
}

function orphansIn(store: Store, name: string): Orphans | null {
  const digest = name.split(SEPARATOR)[1] ?? '';
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

function isInUse({ owner: self }: Store, name: string): boolean {
  const [, , owner = '', thread] = name.split(SEPARATOR);
  const isOwn = owner === self && thread === String(threadId);
  return !isOwn && isSeenAlive(owner, self);
}

function emptyGrave(store: Store, name: string): void {
  const { fs, path } = store;
  const grave = at.store(path, 'trash', name);
  try {
    if (holdsAnother(store, grave, name.split(SEPARATOR)[1] ?? '')) bringBack(store, grave);
    else removeTree(fs, grave);
  } catch (thrown) {
    // Somebody on another machine fills or empties it at the same time; or the name that something is to come back to is taken.
    if (!isCode(thrown, 'ENOENT', 'ENOTEMPTY', 'EEXIST', 'ENOTDIR')) throw thrown;
  }
}

/** True when the one that was to be deleted came to be wanted, or was replaced under its name, and whoever moved it here died before they saw that. */
function holdsAnother({ fs }: Store, grave: string, digest: string): boolean {
  if (digest === '' || fs.stat(grave)?.kind !== 'folder') return false;
  return digest === SPARED || readSeals(fs, grave).some(({ parsed }) => parsed.ok && digestOf(parsed.manifest.save) !== digest);
}

function bringBack(store: Store, grave: string): void {
  const { fs, path } = store;
  const names = fs.list(grave);
  if (names.some((name) => fs.stat(join(path, name)) !== null)) return;
  moveBack(store, grave, names);
  fs.fsyncFolder(path);
  fs.rmdir(grave);
}
