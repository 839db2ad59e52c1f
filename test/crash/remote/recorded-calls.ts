import fs from 'node:fs';
import promises, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import type { Operation } from '../model/operation.ts';

/** The functions of Node that change files, as everything in `src` imports them. */
const real = { ...fs };
const { open, link, mkdir, rename, unlink } = promises;
const HANDLES = '/proc/self/fd';

/**
 * Records every change that `work` makes below `root`, at Node's own functions: code with file
 * operations of its own shows as well. `promise` records the answer to a caller. A change by a
 * function that is not replaced here does not show, so the caller compares the log with the disk.
 * Paths for which `isLeftOut` holds are not recorded.
 */
export async function recordCalls(
  root: string,
  isLeftOut: (path: string) => boolean,
  work: (promise: (name: string) => void) => Promise<void>,
): Promise<readonly Operation[]> {
  const log: Operation[] = [];
  const inside = (path: string): string | null => {
    const below = relative(root, path);
    return below === '..' || below.startsWith('../') || isLeftOut(below) ? null : below;
  };
  /** Folders are also reached through their handles. */
  const at = (path: unknown): string | null => {
    if (typeof path !== 'string') return null;
    try {
      return inside(join(real.realpathSync(dirname(path)), basename(path)));
    } catch {
      return null;
    }
  };
  const behind = (handle: number): string | null => {
    const path = real.readlinkSync(`${HANDLES}/${handle}`);
    return path.endsWith(' (deleted)') ? null : inside(path);
  };
  const made = (path: string | null, isNew: boolean): void => {
    if (path !== null && isNew && isThere(join(root, path))) log.push({ kind: 'write', path, data: Buffer.alloc(0) });
  };
  const filled = (handle: number): void => {
    const path = behind(handle);
    if (path !== null) log.push({ kind: 'fill', path, data: real.readFileSync(`${HANDLES}/${handle}`) });
  };
  const synced = (handle: number): void => {
    const path = behind(handle);
    if (path !== null) log.push({ kind: real.fstatSync(handle).isDirectory() ? 'sync-folder' : 'sync-file', path });
  };
  const moved = (kind: 'rename' | 'link', from: string | null, to: string | null): void => {
    if (from !== null && to !== null) log.push({ kind, from, to });
  };
  const gone = (kind: 'unlink' | 'rmdir', path: string | null): void => {
    if (path !== null) log.push({ kind, path });
  };

  const recorded = {
    mkdirSync(path: string, ...rest: []) {
      real.mkdirSync(path, ...rest);
      const own = at(path);
      if (own !== null) log.push({ kind: 'mkdir', path: own });
    },
    openSync(path: string, ...rest: ['r']) {
      const isNew = !isThere(path);
      const handle = real.openSync(path, ...rest);
      made(at(path), isNew);
      return handle;
    },
    writeSync(handle: number, ...rest: [Uint8Array]) {
      const written = real.writeSync(handle, ...rest);
      filled(handle);
      return written;
    },
    writeFileSync(path: string, ...rest: [string]) {
      const isNew = !isThere(path);
      real.writeFileSync(path, ...rest);
      const own = at(path);
      made(own, isNew);
      if (own !== null) log.push({ kind: 'fill', path: own, data: real.readFileSync(path) });
    },
    fsyncSync(handle: number) {
      real.fsyncSync(handle);
      synced(handle);
    },
    renameSync(from: string, to: string) {
      const names = [at(from), at(to)] as const;
      real.renameSync(from, to);
      moved('rename', ...names);
    },
    unlinkSync(path: string) {
      const own = at(path);
      real.unlinkSync(path);
      gone('unlink', own);
    },
    rmdirSync(path: string) {
      const own = at(path);
      real.rmdirSync(path);
      gone('rmdir', own);
    },
    rmSync(path: string, ...rest: []) {
      const own = at(path);
      const [wasThere, isFolder] = [isThere(path), isThere(path) && real.lstatSync(path).isDirectory()];
      real.rmSync(path, ...rest);
      if (wasThere) gone(isFolder ? 'rmdir' : 'unlink', own);
    },
  };
  const recordedPromises = {
    async open(path: string, ...rest: ['r']) {
      const isNew = !isThere(path);
      const handle = await open(path, ...rest);
      const own = at(path);
      made(own, isNew);
      return own === null ? handle : observed(handle, { filled, synced });
    },
    async mkdir(path: string, ...rest: []) {
      await mkdir(path, ...rest);
      const own = at(path);
      if (own !== null) log.push({ kind: 'mkdir', path: own });
    },
    async link(from: string, to: string) {
      await link(from, to);
      moved('link', at(from), at(to));
    },
    async rename(from: string, to: string) {
      const names = [at(from), at(to)] as const;
      await rename(from, to);
      moved('rename', ...names);
    },
    async unlink(path: string) {
      const own = at(path);
      await unlink(path);
      gone('unlink', own);
    },
  };
  Object.assign(fs, recorded);
  Object.assign(promises, recordedPromises);
  syncBuiltinESMExports();
  try {
    await work((name) => log.push({ kind: 'promise', name }));
    return log;
  } finally {
    for (const name of Object.keys(recorded)) Reflect.set(fs, name, Reflect.get(real, name));
    Object.assign(promises, { open, link, mkdir, rename, unlink });
    syncBuiltinESMExports();
  }
}

function isThere(path: string): boolean {
  return real.lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** The same handle, whose writes and syncs are recorded. */
function observed(handle: FileHandle, { filled, synced }: Record<'filled' | 'synced', (handle: number) => void>): FileHandle {
  for (const [name, tell] of [
    ['write', filled],
    ['writeFile', filled],
    ['truncate', filled],
    ['sync', synced],
    ['datasync', synced],
  ] as const) {
    const call = (handle[name] as (...parameters: unknown[]) => Promise<unknown>).bind(handle);
    const told = async (...parameters: unknown[]): Promise<unknown> => {
      const answer = await call(...parameters);
      tell(handle.fd);
      return answer;
    };
    Object.defineProperty(handle, name, { value: told });
  }
  return handle;
}
