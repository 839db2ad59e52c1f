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
import { readRegularFile } from '../../core/read-regular.ts';
import { LIMITS } from '../limits.ts';

export interface EntryStat {
  readonly kind: 'file' | 'folder' | 'other';
  readonly size: number;
  readonly mtimeMs: number;
  readonly device: number;
  readonly inode: number;
}

/**
 * The file operations of the sealing protocol, one system call's meaning each, synchronous, throwing Node's errors (`code` = `ENOENT`, …).
 * Everything the store changes on disk goes through one of these, so that a recording implementation sees the whole protocol and a model can
 * enumerate what a crash may leave of it.
 */
export interface DurableFs {
  /** One folder; fails with EEXIST when the name is taken and with ENOENT when the parent is not there. */
  mkdir(path: string): void;
  /** A new file with these bytes, not yet durable; fails with EEXIST when the name is taken. */
  writeFile(path: string, data: Uint8Array | string): void;
  /** The file's bytes and size are durable when this returns; its name is not. */
  fsyncFile(path: string): void;
  /** The names inside the folder are durable when this returns. */
  fsyncFolder(path: string): void;
  /** Moves a file or a folder in one step; a file at `to` is replaced, a folder there only when it is empty. */
  rename(from: string, to: string): void;
  unlink(path: string): void;
  /** Only an empty folder goes. */
  rmdir(path: string): void;
  /** A small regular file; fails with EISDIR, EFTYPE or EFBIG, unopened, where something else lies there. */
  readFile(path: string): Buffer;
  /** The names in the folder, sorted. */
  list(path: string): string[];
  /** What lies there, links not followed; null when nothing does. */
  stat(path: string): EntryStat | null;
}

/** The file system itself. */
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

function withFile(path: string, flags: number, use: (file: number) => void): void {
  const file = openSync(path, flags, 0o666);
  try {
    use(file);
  } finally {
    closeSync(file);
  }
}
