import { dirname } from 'node:path';
import type { DurableFs } from './durable-fs.ts';

/**
 * Puts a small file in place in one durable step. A reader, and the disk after a crash, has the
 * whole old file or the whole new one.
 */
export function replaceFile(fs: DurableFs, path: string, text: string, unique: string): void {
  replaceThrough(fs, `${path}.${unique}.tmp`, path, text);
}

/** Does the same, and lets the caller choose the first, temporary name in the same folder. */
export function replaceThrough(fs: DurableFs, temporary: string, path: string, text: string): void {
  try {
    fs.writeFile(temporary, text);
    fs.fsyncFile(temporary);
    fs.rename(temporary, path);
  } catch (thrown) {
    removeQuietly(fs, temporary);
    throw thrown;
  }
  fs.fsyncFolder(dirname(path));
}

function removeQuietly(fs: DurableFs, path: string): void {
  try {
    fs.unlink(path);
  } catch {
    // It was never made, or the file system has a worse error, which the caller reports.
  }
}
