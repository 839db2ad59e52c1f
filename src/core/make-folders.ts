import { closeSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { systemCode } from './errors.ts';

/** Another process may remove a folder in between. It is made again, a bounded number of times. */
const TRIES = 3;

/**
 * Makes a folder and its missing parents, each with this mode. Node's own `recursive` never returns
 * when the system reports ENOENT below an existing folder, as in /proc; here that is an error.
 */
export function makeFolders(path: string, mode = 0o777): void {
  for (let tries = 1; ; tries++) {
    try {
      makeMissing(resolve(path), mode);
      return;
    } catch (thrown) {
      if (systemCode(thrown) !== 'ENOENT' || tries === TRIES) throw thrown;
    }
  }
}

/**
 * The same, made durable: every new folder is synced into its parent before this returns. A power
 * cut must not lose a whole run.
 */
export function makeLastingFolders(path: string, sync: (folder: string) => void = syncFolder): void {
  const missing: string[] = [];
  for (let at = resolve(path); !isFolder(at) && at !== dirname(at); at = dirname(at)) missing.push(at);
  makeFolders(path);
  for (const made of missing) sync(dirname(made));
}

/**
 * Errors of folders that cannot be opened for reading, and of file systems that cannot sync
 * folders.
 */
const CANNOT_SYNC: ReadonlySet<string | null> = new Set(['EACCES', 'EPERM', 'EINVAL', 'ENOTSUP', 'EROFS']);

function syncFolder(path: string): void {
  try {
    const folder = openSync(path, 'r');
    try {
      fsyncSync(folder);
    } finally {
      closeSync(folder);
    }
  } catch (thrown) {
    if (!CANNOT_SYNC.has(systemCode(thrown))) throw thrown;
  }
}

function makeMissing(path: string, mode: number): void {
  const missing: string[] = [];
  for (let at = path; !makeOne(at, mode, at !== dirname(at)); at = dirname(at)) missing.unshift(at);
  for (const at of missing) makeOne(at, mode, false);
}

/** False when the parent folder is missing, which is an expected case. */
function makeOne(path: string, mode: number, mayMiss: boolean): boolean {
  try {
    mkdirSync(path, { mode });
  } catch (thrown) {
    if (mayMiss && systemCode(thrown) === 'ENOENT') return false;
    // Some systems report EROFS or EACCES for an existing folder.
    if (!isFolder(path)) throw thrown;
  }
  return true;
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
