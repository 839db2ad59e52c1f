import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const PREFIX = '.holdfast-probe-';
const NAME = /^\.holdfast-probe-[0-9A-Za-z]{6}$/;
/** No probe takes this long: what is older was left by one that was killed. */
const ABANDONED_MS = 3_600_000;

/** A folder to try things in, inside the folder that is looked at; gone after the work whatever happens, save SIGKILL and power cuts. */
export async function withProbeFolder<T>(parent: string, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(parent, PREFIX));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  // A second Ctrl-C ends the process without coming back here.
  process.once('exit', remove);
  try {
    sweep(parent, folder);
    return await work(folder);
  } finally {
    process.off('exit', remove);
    remove();
  }
}

/** Removes what killed probes left. Ages are told by the file system's own clock: that of the fresh folder. */
function sweep(parent: string, fresh: string): void {
  const now = lstatSync(fresh).mtimeMs;
  for (const name of readdirSync(parent)) {
    if (!NAME.test(name)) continue;
    const stats = lstatSync(join(parent, name), { throwIfNoEntry: false });
    if (stats?.isDirectory() && now - stats.mtimeMs > ABANDONED_MS) rmSync(join(parent, name), { recursive: true, force: true });
  }
}
