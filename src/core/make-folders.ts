import { closeSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { systemCode } from './errors.ts';

/** What was there a moment ago may have been tidied away: it is made again, but not for ever. */
const TRIES = 3;

/**
 * Makes a folder and whatever is missing above it, each with this mode. Node.js' own way (`recursive`) never comes back where the system says ENOENT
 * below a folder that is there, as in /proc; here that is an error.
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

/** The same; what was made is in the folder above it for good when this returns: a power cut must not take a whole run along. */
export function makeLastingFolders(path: string, sync: (folder: string) => void = syncFolder): void {
  const missing: string[] = [];
  for (let at = resolve(path); !isFolder(at) && at !== dirname(at); at = dirname(at)) missing.push(at);
  makeFolders(path);
  for (const made of missing) sync(dirname(made));
}

/** Folders that cannot be opened to be read, and file systems that cannot sync any. */
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

/** False when the folder above it is missing, which may be. */
function makeOne(path: string, mode: number, mayMiss: boolean): boolean {
  try {
    mkdirSync(path, { mode });
  } catch (thrown) {
    if (mayMiss && systemCode(thrown) === 'ENOENT') return false;
    // Some say EROFS or EACCES of what is there.
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
