import type { DurableFs } from './durable-fs.ts';

/**
 * Renames a file or a folder to a name that nobody has; false when somebody has it. It is looked at right before the rename, with nothing slow in between: a
 * rename replaces a file that is there. Of two who come in the very same moment the second can still replace the first’s file; a folder with something in it is never replaced.
 */
export function renameIfFree(fs: DurableFs, from: string, to: string): boolean {
  if (fs.stat(to) !== null) return false;
  fs.rename(from, to);
  return true;
}
