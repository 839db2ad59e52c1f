import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemCode } from '../../core/errors.ts';

const PREFIX = '.holdfast-probe-';
const NAME = /^\.holdfast-probe-[0-9A-Za-z]{6}$/;
/** No probe takes this long: what is older was left by one that was killed. */
const ABANDONED_MS = 3_600_000;

/** Makes a folder to try things in, inside the folder that is looked at. Throws the system's error where nothing can be written. */
export function makeProbeFolder(parent: string): string {
  return mkdtempSync(join(parent, PREFIX));
}

/**
 * Works in such a folder and removes it, whatever happens save SIGKILL and power cuts; what those left, the next probe clears away. False
 * for `isGone` where the storage lets nobody delete.
 */
export async function withProbeFolder<T>(
  folder: string,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly isGone: boolean }> {
  // A second Ctrl-C ends the process without coming back here.
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

/** Removes what killed probes left. Ages are told by the file system's own clock: that of the fresh folder. */
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
