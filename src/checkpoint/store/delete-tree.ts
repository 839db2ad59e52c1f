import { join } from 'node:path';
import type { DurableFs } from './durable-fs.ts';

/** Removes a folder or a file with everything in it; links are removed, not followed. Nothing happens when it is not there. */
export function removeTree(fs: DurableFs, path: string): void {
  const stat = fs.stat(path);
  if (stat === null) return;
  if (stat.kind !== 'folder') return fs.unlink(path);
  for (const name of fs.list(path)) removeTree(fs, join(path, name));
  fs.rmdir(path);
}
