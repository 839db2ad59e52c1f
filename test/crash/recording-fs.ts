import { relative } from 'node:path';
import { type DurableFs, realFs } from '../../src/store/disk/durable-fs.ts';
import type { Operation } from './model/operation.ts';

export interface RecordingFs extends DurableFs {
  readonly log: Operation[];
  /** Records the answer to the caller: from here on, this holds through any crash. */
  promise(name: string): void;
}

/** Runs every call on the real file system, and logs every successful call below `root`. */
export function recordingFs(root: string): RecordingFs {
  const log: Operation[] = [];
  const at = (path: string): string => {
    const inside = relative(root, path);
    if (inside.startsWith('..')) throw new Error(`${path} is outside of ${root}`);
    return inside;
  };
  return {
    ...realFs,
    log,
    promise: (name) => log.push({ kind: 'promise', name }),
    mkdir(path) {
      realFs.mkdir(path);
      log.push({ kind: 'mkdir', path: at(path) });
    },
    writeFile(path, data) {
      realFs.writeFile(path, data);
      log.push({ kind: 'write', path: at(path), data: typeof data === 'string' ? Buffer.from(data) : Uint8Array.from(data) });
    },
    fsyncFile(path) {
      realFs.fsyncFile(path);
      log.push({ kind: 'sync-file', path: at(path) });
    },
    fsyncFolder(path) {
      realFs.fsyncFolder(path);
      log.push({ kind: 'sync-folder', path: at(path) });
    },
    rename(from, to) {
      realFs.rename(from, to);
      log.push({ kind: 'rename', from: at(from), to: at(to) });
    },
    unlink(path) {
      realFs.unlink(path);
      log.push({ kind: 'unlink', path: at(path) });
    },
    rmdir(path) {
      realFs.rmdir(path);
      log.push({ kind: 'rmdir', path: at(path) });
    },
  };
}
