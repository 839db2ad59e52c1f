import {
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { resolve, sep } from 'node:path';
import { asAsked, openFolderBeneath, throughFolder } from '../../core/beneath.ts';
import { systemCode } from '../../core/errors.ts';
import { readRegularFile } from '../../core/read-regular.ts';
import { LIMITS } from '../../core/hostile-limits.ts';

/** The facts about one entry that the store compares. */
export interface EntryStat {
  readonly kind: 'file' | 'folder' | 'other';
  readonly size: number;
  readonly mtimeMs: number;
  readonly device: number;
  readonly inode: number;
}

/**
 * The file operations of the sealing protocol: each means one system call, is synchronous, and
 * throws Node's errors (`code` = `ENOENT`, …). Every change that the store makes on disk goes
 * through one of them. A recording implementation therefore sees the whole protocol, and a model
 * can enumerate the states after a crash.
 */
export interface DurableFs {
  /**
   * Makes one folder; fails with EEXIST when the name is taken and with ENOENT when the parent is
   * missing.
   */
  mkdir(path: string): void;
  /** Writes a new file, not yet durable; fails with EEXIST when the name is taken. */
  writeFile(path: string, data: Uint8Array | string): void;
  /** Makes the file's bytes and size durable, but not its name. */
  fsyncFile(path: string): void;
  /** Makes the names inside the folder durable. */
  fsyncFolder(path: string): void;
  /**
   * Moves a file or a folder in one step. It replaces a file at `to`, and a folder there only when
   * that is empty.
   */
  rename(from: string, to: string): void;
  unlink(path: string): void;
  /** Removes a folder, which must be empty. */
  rmdir(path: string): void;
  /**
   * Reads a small regular file; anything else fails with EISDIR, EFTYPE or EFBIG, and is not
   * opened.
   */
  readFile(path: string): Buffer;
  /** Lists the names in the folder, sorted. */
  list(path: string): string[];
  /** Returns the facts about an entry, and does not follow a link; null when there is none. */
  stat(path: string): EntryStat | null;
}

/** The real file system. */
export const realFs: DurableFs = {
  mkdir: (path) => mkdirSync(path),
  writeFile(path, data) {
    withFile(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, (file) => {
      const bytes = typeof data === 'string' ? Buffer.from(data) : data;
      for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
    });
  },
  fsyncFile: (path) => withFile(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK, fsyncSync),
  fsyncFolder: (path) => withFile(path, constants.O_RDONLY | constants.O_DIRECTORY, fsyncSync),
  rename: (from, to) => renameSync(from, to),
  unlink: (path) => unlinkSync(path),
  rmdir: (path) => rmdirSync(path),
  readFile: (path) => readRegularFile(path, LIMITS.documentBytes),
  list: (path) => readdirSync(path).sort(),
  stat(path) {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return null;
    const kind = stat.isFile() ? 'file' : stat.isDirectory() ? 'folder' : 'other';
    return { kind, size: stat.size, mtimeMs: stat.mtimeMs, device: stat.dev, inode: stat.ino };
  },
};

/**
 * Returns the file system below the folder of a run. No operation follows a link below that folder:
 * each one holds the parent folder open. A folder that is replaced by a link meanwhile therefore
 * leads nowhere. Paths outside are used unchanged.
 */
export function fsBeneath(root: string): DurableFs {
  const top = resolve(root);
  const prefix = top.endsWith(sep) ? top : top + sep;
  const at = <T>(path: string, use: (real: string) => T): T => {
    const absolute = resolve(path);
    if (!absolute.startsWith(prefix)) return use(path);
    const below = absolute.slice(prefix.length);
    // A name directly below the root has no folder in between that could be replaced.
    return below.includes(sep) ? throughFolder(top, below, use) : use(absolute);
  };
  /** The same for the names in a folder. */
  const into = <T>(path: string, use: (real: string) => T): T => {
    const absolute = resolve(path);
    if (!absolute.startsWith(prefix)) return use(path);
    const folder = openFolderBeneath(top, absolute.slice(prefix.length));
    try {
      return use(folder.at);
    } catch (thrown) {
      throw asAsked(thrown, folder, absolute);
    } finally {
      folder.close();
    }
  };
  const isBelow = (path: string): boolean => resolve(path).startsWith(prefix);
  return {
    mkdir: (path) => at(path, (real) => realFs.mkdir(real)),
    writeFile: (path, data) => at(path, (real) => realFs.writeFile(real, data)),
    fsyncFile: (path) => at(path, (real) => realFs.fsyncFile(real)),
    fsyncFolder: (path) => into(path, (real) => realFs.fsyncFolder(real)),
    rename: (from, to) => at(from, (realFrom) => at(to, (realTo) => realFs.rename(realFrom, realTo))),
    unlink: (path) => at(path, (real) => realFs.unlink(real)),
    rmdir: (path) => at(path, (real) => realFs.rmdir(real)),
    readFile: (path) => at(path, (real) => readRegularFile(real, LIMITS.documentBytes, isBelow(path) ? 'refused' : 'followed')),
    list: (path) => into(path, (real) => realFs.list(real)),
    stat: (path) => statThrough(path, at),
  };
}

/**
 * Below a missing folder lies nothing. A file or a link in its place is an error, as for the
 * system.
 */
function statThrough(path: string, at: (path: string, use: (real: string) => EntryStat | null) => EntryStat | null): EntryStat | null {
  try {
    return at(path, (real) => realFs.stat(real));
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT') return null;
    throw thrown;
  }
}

function withFile(path: string, flags: number, use: (file: number) => void): void {
  const file = openSync(path, flags, 0o666);
  try {
    use(file);
  } finally {
    closeSync(file);
  }
}
