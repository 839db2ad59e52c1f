import { join } from 'node:path';
import type { DurableFs } from './durable-fs.ts';
import { isCode } from './store-error.ts';

/** Removes a folder or a file with everything in it; links are removed, not followed. What is not there, or goes meanwhile, is gone. */
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

/** For what was made in vain: what cannot be removed stays until a prune, and why it was in vain says more than why it stays. */
export function removeQuietly(fs: DurableFs, path: string): void {
  try {
    removeTree(fs, path);
  } catch {}
}
