import { join } from 'node:path';
import type { DurableFs } from './durable-fs.ts';
import { isCode } from './store-error.ts';

/**
 * Removes a file, or a folder with its content. It removes links and does not follow them. Missing
 * entries count as removed.
 */
export function removeTree(fs: DurableFs, path: string): void {
  try {
    const stat = fs.stat(path);
    if (stat === null) return;
    if (stat.kind !== 'folder') return fs.unlink(path);
    for (const name of fs.list(path)) removeTree(fs, join(path, name));
    fs.rmdir(path);
  } catch (thrown) {
    if (!isCode(thrown, 'ENOENT')) throw thrown;
  }
}

/**
 * Removes the remains of a failure, if it can. A later prune removes the rest; the first error
 * explains more than a second one.
 */
export function removeQuietly(fs: DurableFs, path: string): void {
  try {
    removeTree(fs, path);
  } catch {}
}
