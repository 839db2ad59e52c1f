import { dirname } from 'node:path';
import type { DurableFs } from './durable-fs.ts';

/** Puts a small file in place in one durable step: a reader, and the disk after a crash, has the old one or the new one, whole. */
export function replaceFile(fs: DurableFs, path: string, text: string, unique: string): void {
  replaceThrough(fs, `${path}.${unique}.tmp`, path, text);
}

/** The same, where the name under which it is written first matters; it lies in the same folder. */
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
    // It was never made, or the file system has worse troubles, which are being reported.
  }
}
