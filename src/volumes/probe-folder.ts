import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemCode } from '../core/errors.ts';

const PREFIX = '.holdfast-probe-';
const NAME = /^\.holdfast-probe-[0-9A-Za-z]{6}$/;
/** No probe takes this long: an older folder is the leftover of a killed probe. */
const ABANDONED_MS = 3_600_000;

/**
 * Makes a folder for attempts inside the probed folder. Throws the system's error if it cannot be
 * made.
 */
export function makeProbeFolder(parent: string): string {
  return mkdtempSync(join(parent, PREFIX));
}

/**
 * Works in such a folder and removes it, except after SIGKILL and power cuts; the next probe
 * removes those leftovers. Returns false for `isGone` if the storage forbids deletes.
 */
export async function withProbeFolder<T>(
  folder: string,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly isGone: boolean }> {
  // A second Ctrl-C ends the process before it returns here.
  const removeAtExit = (): void => void remove(folder);
  process.once('exit', removeAtExit);
  let isGone = false;
  let result: T;
  try {
    sweep(dirname(folder), folder);
    result = await work();
  } finally {
    process.off('exit', removeAtExit);
    isGone = remove(folder);
  }
  return { result, isGone };
}

/**
 * Removes the leftovers of killed probes. Their age is measured by the file system's own clock,
 * from the new folder.
 */
function sweep(parent: string, fresh: string): void {
  const now = lstatSync(fresh).mtimeMs;
  for (const name of namesIn(parent)) {
    if (!NAME.test(name)) continue;
    const stats = lstatSync(join(parent, name), { throwIfNoEntry: false });
    if (stats?.isDirectory() && now - stats.mtimeMs > ABANDONED_MS) remove(join(parent, name));
  }
}

/** A folder may be writable without being readable. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (thrown) {
    if (systemCode(thrown) === null) throw thrown;
    return [];
  }
}

function remove(folder: string): boolean {
  try {
    rmSync(folder, { recursive: true, force: true });
    return true;
  } catch (thrown) {
    if (systemCode(thrown) === null) throw thrown;
    return false;
  }
}
