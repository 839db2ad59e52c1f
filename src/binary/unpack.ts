import { chmodSync, lstatSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { getAsset, getAssetKeys } from 'node:sea';
import { makeFolders } from '../core/make-folders.ts';

/** Assets that belong together are unpacked into one folder of their name. */
const GROUPS = ['python', 'examples', 'native'] as const;
type Group = (typeof GROUPS)[number];

const unpacked = new Map<Group, string>();

/**
 * The path of an asset on disk, unpacked on first use. The folder is named after its content
 * (`digest`), so that another version never reads these files. It is private to the user; a folder
 * of another owner is not trusted.
 */
export function unpackedFile(path: string): string {
  const group = GROUPS.find((name) => path === name || path.startsWith(`${name}/`));
  if (group === undefined) throw new Error(`${path} is not in the executable`);
  let root = unpacked.get(group);
  if (root === undefined) {
    root = unpack(group);
    unpacked.set(group, root);
  }
  return join(root, path);
}

function unpack(group: Group): string {
  const name = `${group}-${digest()}`;
  const problems: string[] = [];
  for (const place of places()) {
    try {
      return unpackAt(group, place, name);
    } catch (thrown) {
      problems.push(`${place}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    }
  }
  throw new Error(`there is no place to unpack ${group}: ${problems.join('; ')}`);
}

function digest(): string {
  return Buffer.from(getAsset('digest')).toString('latin1');
}

/**
 * The user's cache first, then folders that are usually writable in a container with a read-only
 * root.
 */
function places(): readonly string[] {
  const { XDG_CACHE_HOME: cache, HOLDFAST_CACHE: own } = process.env;
  const user = `holdfast-${process.getuid?.() ?? 0}`;
  const caches = [own, cache && join(cache, 'holdfast'), homeCache()];
  return [...caches.filter((place) => place), join(tmpdir(), user), join('/dev/shm', user), join('/var/tmp', user)] as string[];
}

/** A user without a home has `/` or nothing. */
function homeCache(): string | null {
  const home = homedir();
  return home === '' || home === '/' ? null : join(home, '.cache', 'holdfast');
}

function unpackAt(group: Group, place: string, name: string): string {
  makeFolders(place, 0o700);
  assertPrivate(place);
  const root = join(place, name);
  if (isThere(root)) return root;
  const unfinished = mkdtempSync(join(place, `.${name}-`));
  try {
    for (const key of getAssetKeys()) {
      if (!key.startsWith(`${group}/`)) continue;
      const file = join(unfinished, key);
      makeFolders(dirname(file));
      writeFileSync(file, Buffer.from(getAsset(key)));
    }
    chmodSync(unfinished, 0o755);
    renameSync(unfinished, root);
  } catch (thrown) {
    rmSync(unfinished, { recursive: true, force: true });
    // Another process was faster, with the same files.
    if (!isThere(root)) throw thrown;
  }
  return root;
}

/** A user with write access to the folder decides which code is loaded. */
function assertPrivate(place: string): void {
  const facts = lstatSync(place);
  const me = process.getuid?.() ?? facts.uid;
  if (!facts.isDirectory() || facts.uid !== me || (facts.mode & 0o022) !== 0) throw new Error('another user can write to it');
}

function isThere(root: string): boolean {
  const facts = lstatSync(root, { throwIfNoEntry: false });
  if (facts === undefined) return false;
  if (!facts.isDirectory() || facts.uid !== (process.getuid?.() ?? facts.uid)) throw new Error('something else lies there');
  return true;
}
