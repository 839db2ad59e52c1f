import { join } from 'node:path';
import { BESIDE_SUFFIX, MANIFEST_NAME, setOf } from '../../checkpoint/store/layout.ts';
import type { DurableFs, EntryStat } from '../../checkpoint/store/durable-fs.ts';
import { isCode } from '../../checkpoint/store/store-error.ts';
import { walkFiles } from '../../checkpoint/store/walk-files.ts';
import { HoldfastError } from '../../core/errors.ts';

/** What is known of each file of a checkpoint without reading it: another writer, or another write, gives another one. */
export type Stamps = ReadonlyMap<string, string>;

/** Something in the watched folder that may be a checkpoint. */
export interface Entry {
  readonly name: string;
  readonly path: string;
  readonly kind: 'directory' | 'files';
  readonly manifestFile: string;
  /** A manifest lies there. */
  readonly hasSeal: boolean;
  /** By path below it; the manifest is not among them. */
  readonly stamps: Stamps;
}

/** More than this in one folder are not watched: whoever keeps so many does not rotate, and looking at all of them would cost. */
const MOST_ENTRIES = 10_000;

/**
 * What lies in the folder: folders, files, and files that belong together by their names. Nothing is opened. What vanishes while it is looked at is
 * left out; it will be gone the next time too.
 */
export function lookAround(fs: DurableFs, folder: string): ReadonlyMap<string, Entry> {
  const names = fs.list(folder).filter((name) => !name.startsWith('.') && !name.endsWith(BESIDE_SUFFIX));
  const members = Map.groupBy(names.slice(0, MOST_ENTRIES), (name) => setOf(name) ?? name);
  const entries = new Map<string, Entry>();
  for (const [name, files] of members) {
    const entry = lookAt(fs, folder, name, files);
    if (entry !== null) entries.set(name, entry);
  }
  return entries;
}

/** One of them, again; null when it is gone. */
export function lookAgain(fs: DurableFs, folder: string, { name, kind, stamps }: Entry): Entry | null {
  return lookAt(fs, folder, name, kind === 'directory' ? [name] : [...stamps.keys()]);
}

function lookAt(fs: DurableFs, folder: string, name: string, members: readonly string[]): Entry | null {
  const path = join(folder, name);
  const [first = name] = members;
  const stat = fs.stat(join(folder, first));
  if (stat?.kind === 'folder') return lookInside(fs, name, path);
  if (stat?.kind !== 'file') return null;
  const manifestFile = `${path}${BESIDE_SUFFIX}`;
  const stamps = new Map<string, string>();
  for (const member of members) {
    const found = fs.stat(join(folder, member));
    if (found?.kind === 'file') stamps.set(member, stampOf(found));
  }
  return { name, path, kind: 'files', manifestFile, hasSeal: fs.stat(manifestFile) !== null, stamps };
}

function lookInside(fs: DurableFs, name: string, path: string): Entry | null {
  const manifestFile = join(path, MANIFEST_NAME);
  try {
    const files = walkFiles(fs, path).files.filter((file) => file.path !== MANIFEST_NAME);
    const stamps = new Map(files.map((file) => [file.path, stampOf(file)]));
    return { name, path, kind: 'directory', manifestFile, hasSeal: fs.stat(manifestFile) !== null, stamps };
  } catch (thrown) {
    // It is being deleted; or it is no checkpoint, by its sheer size.
    if (thrown instanceof HoldfastError || isCode(thrown, 'ENOENT', 'ENOTDIR')) return null;
    throw thrown;
  }
}

function stampOf({ size, mtimeMs, inode }: Pick<EntryStat, 'size' | 'mtimeMs' | 'inode'>): string {
  return `${size}:${mtimeMs}:${inode}`;
}

/** When the file was last written, by the clock of its file system. */
export function writtenMs(stamp: string): number {
  return Number(stamp.split(':')[1]);
}

export function isSame(a: Stamps, b: Stamps): boolean {
  if (a.size !== b.size) return false;
  for (const [path, stamp] of a) if (b.get(path) !== stamp) return false;
  return true;
}

/** Nothing is there that was not there before, as it is. */
export function isPartOf(now: Stamps, before: Stamps): boolean {
  for (const [path, stamp] of now) if (before.get(path) !== stamp) return false;
  return true;
}

/** Every file that both have was written anew: nothing of the older save is left among the newer one's. */
export function isRewritten(before: Stamps, now: Stamps): boolean {
  for (const [path, stamp] of before) if (now.get(path) === stamp) return false;
  return true;
}
