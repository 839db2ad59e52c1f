import { attemptNumbers } from './attempt.ts';
import { bury } from './graves.ts';
import { at } from './layout.ts';
import type { Scan } from './scan.ts';
import type { Store } from './store.ts';
import { isCode, storeError } from './store-error.ts';

/**
 * Deletes what fenced attempts had staged. What the last one before the newest has left stays until the newest has sealed a checkpoint, or
 * needs the room (`scan` is null): until then it may still be wanted, by whoever takes over from it or by whoever asks what became of it.
 */
export function deleteFenced(store: Store, scan: Scan | null): void {
  const { fs, path } = store;
  const folder = at.store(path, 'fenced');
  try {
    const spared = scan === null ? null : sparedOf(store, scan, fs.list(folder));
    for (const name of fs.list(folder)) if (name !== spared) bury(store, at.store(path, 'fenced', name));
  } catch (thrown) {
    // A late writer of the attempt still puts files there; or another deletes at the same time.
    if (!isCode(thrown, 'ENOENT', 'ENOTEMPTY')) throw storeError(thrown, 'empty', folder);
  }
}

function sparedOf(store: Store, { sealed, rolledBack }: Scan, names: readonly string[]): string | null {
  const newest = attemptNumbers(store).at(-1);
  if (newest === undefined || [...sealed, ...rolledBack].some(({ manifest }) => manifest.attempt >= newest)) return null;
  const older = names.map(Number).filter((attempt) => attempt < newest);
  return older.length === 0 ? null : String(Math.max(...older));
}
