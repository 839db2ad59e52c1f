import { join } from 'node:path';
import { at } from '../../seal/names.ts';
import { replaceThrough } from '../disk/replace-file.ts';
import type { SealedCheckpoint } from '../folder/scan.ts';
import type { OpenStore, Store } from '../folder/store.ts';
import { isCode, isNotOurs, storeError } from '../disk/store-error.ts';

/**
 * Lists the names that retention must keep: pinned checkpoints, and the one that `ship` sends now.
 */
export function listKept(store: Store): ReadonlySet<string> {
  return new Set([...listPins(store), ...listHeld(store)]);
}

function listHeld({ fs, path }: Store): readonly string[] {
  try {
    return [fs.readFile(at.heldFile(path)).toString('utf8')];
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT', 'ENOTDIR') || isNotOurs(thrown)) return [];
    throw storeError(thrown, 'read', at.heldFile(path));
  }
}

/** Lists the names of the pinned checkpoints. */
export function listPins({ fs, path }: Store): ReadonlySet<string> {
  try {
    // An unfinished pin begins with a dot, and no name of a checkpoint does.
    return new Set(fs.list(at.store(path, 'pins')).filter((name) => !name.startsWith('.')));
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT')) return new Set();
    // Without the pins a deletion could hit a pinned checkpoint, so prune stops here.
    throw storeError(thrown, 'list', at.store(path, 'pins'));
  }
}

/** Pins a checkpoint: it stays, whatever retention says. */
export function pin(store: OpenStore, { name, manifest: { save } }: SealedCheckpoint): void {
  const file = at.store(store.path, 'pins', name);
  const temporary = at.store(store.path, 'pins', `.${store.makeId()}.tmp`);
  try {
    replaceThrough(store.fs, temporary, file, `${JSON.stringify({ save, at: new Date(store.clock.now()).toISOString() })}\n`);
  } catch (thrown) {
    throw storeError(thrown, 'pin', file);
  }
}

/** Removes a pin; false when there was none. */
export function unpin({ fs, path }: OpenStore, name: string): boolean {
  const folder = at.store(path, 'pins');
  try {
    fs.unlink(join(folder, name));
    fs.fsyncFolder(folder);
    return true;
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT')) return false;
    throw storeError(thrown, 'unpin', join(folder, name));
  }
}
