import { join } from 'node:path';
import { at } from './layout.ts';
import { replaceThrough } from './replace-file.ts';
import type { SealedCheckpoint } from './scan.ts';
import type { OpenStore, Store } from './store.ts';
import { isCode, isNotOurs, storeError } from './store-error.ts';

/** Names of the checkpoints that retention must leave alone: those that people have pinned, and the one that is being sent. */
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

/** Names of the checkpoints that people have pinned. */
export function listPins({ fs, path }: Store): ReadonlySet<string> {
  try {
    // A pin in the making begins with a dot, as no name of a checkpoint does.
    return new Set(fs.list(at.store(path, 'pins')).filter((name) => !name.startsWith('.')));
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT', 'ENOTDIR')) return new Set();
    throw storeError(thrown, 'list', at.store(path, 'pins'));
  }
}

/** Keeps a checkpoint whatever retention says. */
export function pin(store: OpenStore, { name, manifest: { save } }: SealedCheckpoint): void {
  const file = at.store(store.path, 'pins', name);
  const temporary = at.store(store.path, 'pins', `.${store.makeId()}.tmp`);
  try {
    replaceThrough(store.fs, temporary, file, `${JSON.stringify({ save, at: new Date(store.clock.now()).toISOString() })}\n`);
  } catch (thrown) {
    throw storeError(thrown, 'pin', file);
  }
}

/** False when it was not pinned. */
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
