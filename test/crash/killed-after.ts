import type { DurableFs } from '../../src/store/disk/durable-fs.ts';

class Killed extends Error {}

/**
 * Lets a writer work until right after its nth rename and then stops it: the next process sees the
 * state of a kill.
 */
export async function killedAfterRenames(renames: number, fs: DurableFs, work: (fs: DurableFs) => Promise<unknown>): Promise<void> {
  let left = renames;
  const alive = <T>(call: () => T): T => {
    if (left <= 0) throw new Killed('killed');
    return call();
  };
  const mortal: DurableFs = {
    mkdir: (path) => alive(() => fs.mkdir(path)),
    writeFile: (path, data) => alive(() => fs.writeFile(path, data)),
    fsyncFile: (path) => alive(() => fs.fsyncFile(path)),
    fsyncFolder: (path) => alive(() => fs.fsyncFolder(path)),
    unlink: (path) => alive(() => fs.unlink(path)),
    rmdir: (path) => alive(() => fs.rmdir(path)),
    readFile: (path) => alive(() => fs.readFile(path)),
    list: (path) => alive(() => fs.list(path)),
    stat: (path) => alive(() => fs.stat(path)),
    rename: (from, to) =>
      alive(() => {
        fs.rename(from, to);
        left -= 1;
      }),
  };
  try {
    await work(mortal);
  } catch (thrown) {
    if (left > 0) throw thrown;
  }
}
