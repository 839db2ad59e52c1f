import { closeSync, constants, existsSync, lstatSync, openSync, readlinkSync, realpathSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Opens a folder only to find names in it: needs no permission to read it. Node does not name this
 * flag of Linux.
 */
const O_PATH = 0o10000000;
const FOLDER = O_PATH | constants.O_DIRECTORY;
const HANDLES = '/proc/self/fd';
const hasHandles = process.platform === 'linux' && existsSync(HANDLES);

/** A folder that is held open. Whatever is renamed meanwhile, `at` leads to this very folder. */
export interface HeldFolder {
  readonly at: string;
  close(): void;
}

/**
 * Opens the folder `below` the folder `root`, and follows no link on the way: no component below
 * the root can lead out of it, also when another process exchanges a folder for a link at this
 * moment. Fails with ENOTDIR or ELOOP where a link or a file lies on the way. The root itself may
 * be reached through links, since the user named it.
 */
export function openFolderBeneath(root: string, below: string): HeldFolder {
  if (!hasHandles) return checkedFolder(root, below);
  return below === '' ? held(openSync(root, FOLDER)) : (openAtOnce(root, below) ?? openStepByStep(root, below));
}

/**
 * Opens a file below the folder `root` like {@link openFolderBeneath}; the last component is not
 * followed either.
 */
export function openBeneath(root: string, path: string, flags: number): number {
  return throughFolder(root, path, (real) => openSync(real, flags | constants.O_NOFOLLOW));
}

/** The same as {@link openBeneath}, on a thread of the system. */
export async function openHandleBeneath(root: string, path: string, flags: number): Promise<FileHandle> {
  const [below, name] = split(path);
  const folder = openFolderBeneath(root, below);
  try {
    return await open(join(folder.at, name), flags | constants.O_NOFOLLOW);
  } catch (thrown) {
    throw asAsked(thrown, folder, join(root, below));
  } finally {
    folder.close();
  }
}

/**
 * Calls `use` with a path to `path` below the folder `root` on which only the last component is
 * still looked up.
 */
export function throughFolder<T>(root: string, path: string, use: (real: string) => T): T {
  const [below, name] = split(path);
  const folder = openFolderBeneath(root, below);
  try {
    return use(join(folder.at, name));
  } catch (thrown) {
    throw asAsked(thrown, folder, join(root, below));
  } finally {
    folder.close();
  }
}

/**
 * Opens the folder `below` the folder `root` on threads of the system, and follows no link on the
 * way. `use` gets a path on which only what it adds is still looked up.
 */
export async function withFolderBeneath<T>(root: string, below: string, use: (real: string) => Promise<T>): Promise<T> {
  const folder = hasHandles ? await openOnThread(root, below) : checkedFolder(root, below);
  try {
    return await use(folder.at);
  } catch (thrown) {
    throw asAsked(thrown, folder, join(root, below));
  } finally {
    folder.close();
  }
}

async function openOnThread(root: string, below: string): Promise<HeldFolder> {
  let folder = await open(root, FOLDER);
  for (const name of below === '' ? [] : below.split('/')) {
    const outer = folder;
    try {
      folder = await open(join(HANDLES, String(outer.fd), name), FOLDER | constants.O_NOFOLLOW);
    } finally {
      await outer.close();
    }
  }
  const { fd } = folder;
  return { at: `${HANDLES}/${fd}`, close: () => void folder.close().catch(() => {}) };
}

/** The same error with the path that the caller asked for: the number of a handle tells nothing. */
export function asAsked(thrown: unknown, { at }: HeldFolder, asked: string): unknown {
  if (!(thrown instanceof Error)) return thrown;
  thrown.message = thrown.message.replaceAll(at, asked);
  if ('path' in thrown && typeof thrown.path === 'string') thrown.path = thrown.path.replace(at, asked);
  return thrown;
}

function split(path: string): readonly [string, string] {
  const end = path.lastIndexOf('/');
  return [path.slice(0, Math.max(end, 0)), path.slice(end + 1)];
}

function held(handle: number): HeldFolder {
  return { at: `${HANDLES}/${handle}`, close: () => closeSync(handle) };
}

/**
 * One look-up of the whole path; the system then tells where it led. Null where that is not the
 * path that was asked for.
 */
function openAtOnce(root: string, below: string): HeldFolder | null {
  const folder = held(openSync(join(root, below), FOLDER | constants.O_NOFOLLOW));
  try {
    if (readlinkSync(folder.at) === join(realOf(root), below)) return folder;
  } catch {
    // The way step by step meets the same, and tells it.
  }
  folder.close();
  return null;
}

let lastRoot = { given: '', real: '' };

/**
 * Many files are opened below the same root. Where it was moved since, the comparison fails, and
 * the slow way decides.
 */
function realOf(root: string): string {
  if (lastRoot.given !== root) lastRoot = { given: root, real: realpathSync(root) };
  return lastRoot.real;
}

/**
 * Slow and certain: for folders that were moved at this moment, and file systems that know a name
 * in another spelling.
 */
function openStepByStep(root: string, below: string): HeldFolder {
  lastRoot = { given: '', real: '' };
  let folder = held(openSync(root, FOLDER));
  for (const name of below.split('/')) {
    const outer = folder;
    try {
      folder = held(openSync(join(outer.at, name), FOLDER | constants.O_NOFOLLOW));
    } finally {
      outer.close();
    }
  }
  return folder;
}

/**
 * Where no handle leads to a folder, each component is looked at; a folder that is exchanged right
 * afterwards is not seen.
 */
function checkedFolder(root: string, below: string): HeldFolder {
  let at = realpathSync(root);
  for (const name of below === '' ? [] : below.split('/')) {
    at = join(at, name);
    if (!lstatSync(at).isDirectory()) throw Object.assign(new Error(`ENOTDIR: ${at} is not a folder`), { code: 'ENOTDIR' });
  }
  return { at, close: () => {} };
}
