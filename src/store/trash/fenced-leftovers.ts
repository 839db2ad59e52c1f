import { attemptNumbers } from '../attempt/attempt.ts';
import { discardFolder } from './trash.ts';
import { at } from '../../seal/names.ts';
import type { Scan } from '../folder/scan.ts';
import type { Store } from '../folder/store.ts';
import { isCode, storeError } from '../disk/store-error.ts';

/**
 * Deletes the staging of fenced attempts. The newest fenced attempt keeps its staging until the
 * current one has sealed a checkpoint, or needs the room (`scan` is null). Until then its successor
 * may still use it, or a person may look for the cause there.
 */
export function deleteFenced(store: Store, scan: Scan | null): void {
  const { fs, path } = store;
  const folder = at.store(path, 'fenced');
  try {
    const spared = scan === null ? null : sparedOf(store, scan, fs.list(folder));
    for (const name of fs.list(folder)) if (name !== spared) discardFolder(store, at.store(path, 'fenced', name));
  } catch (thrown) {
    // A late writer of the attempt still adds files, or another process deletes at the same time.
    if (!isCode(thrown, 'ENOENT', 'ENOTEMPTY')) throw storeError(thrown, 'empty', folder);
  }
}

function sparedOf(store: Store, { sealed, rolledBack }: Scan, names: readonly string[]): string | null {
  const newest = attemptNumbers(store).at(-1);
  if (newest === undefined || [...sealed, ...rolledBack].some(({ manifest }) => manifest.attempt >= newest)) return null;
  const older = names.map(Number).filter((attempt) => attempt < newest);
  return older.length === 0 ? null : String(Math.max(...older));
}
