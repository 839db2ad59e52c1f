import type { DurableFs } from './durable-fs.ts';

/**
 * Renames a file or a folder to a free name; false when the name is taken. A rename replaces an
 * existing file, so the check comes right before it. Of two processes in the same instant, the
 * second can still replace the first's file. A folder with content is never replaced.
 */
export function renameIfFree(fs: DurableFs, from: string, to: string): boolean {
  if (fs.stat(to) !== null) return false;
  fs.rename(from, to);
  return true;
}
