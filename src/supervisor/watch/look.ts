import { join } from 'node:path';
import { BESIDE_SUFFIX, MANIFEST_NAME, setOf } from '../../seal/names.ts';
import type { DurableFs, EntryStat } from '../../store/disk/durable-fs.ts';
import { isCode } from '../../store/disk/store-error.ts';
import { walkFiles } from '../../store/disk/walk-files.ts';
import { HoldfastError } from '../../core/errors.ts';

/**
 * Describes each file of a checkpoint without reading it. Another writer or another write changes
 * the stamp.
 */
export type Stamps = ReadonlyMap<string, string>;

/** An entry of the watched folder that may be a checkpoint. */
export interface Entry {
  readonly name: string;
  readonly path: string;
  readonly kind: 'directory' | 'files';
  readonly manifestFile: string;
  /** A manifest is already there. */
  readonly hasSeal: boolean;
  /** The stamps by path below the entry, without the manifest. */
  readonly stamps: Stamps;
}

/**
 * The most entries that are watched in one folder. A folder with more does not rotate its saves,
 * and looking at all of them would cost too much.
 */
const MOST_ENTRIES = 10_000;

/**
 * Lists the folder: its folders, its files, and its files that belong together by name. It opens
 * nothing. An entry that vanishes during the look is left out; the next look will not find it
 * either.
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

/** Looks at one entry again; null when it is gone. */
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
    // The entry is being deleted, or it is too large to be a checkpoint.
    if (thrown instanceof HoldfastError || isCode(thrown, 'ENOENT', 'ENOTDIR')) return null;
    throw thrown;
  }
}

function stampOf({ size, mtimeMs, inode }: Pick<EntryStat, 'size' | 'mtimeMs' | 'inode'>): string {
  return `${size}:${mtimeMs}:${inode}`;
}

/** The time of the file's last write, by the clock of its file system. */
export function writtenMs(stamp: string): number {
  return Number(stamp.split(':')[1]);
}

/** The time of the last write to any of the files; 0 when there are none. */
export function lastWrittenMs(stamps: Stamps): number {
  return Math.max(0, ...[...stamps.values()].map(writtenMs));
}

/**
 * Returns true when every file is the same file with its old size, and some were written to. Damage
 * looks like this. A framework that saves again mostly makes new files, or its files are shorter at
 * first.
 */
export function isOnlyTouched(before: Stamps, now: Stamps): boolean {
  if (before.size !== now.size) return false;
  for (const [path, stamp] of before) {
    const [size, , inode] = stamp.split(':');
    const [newSize, , newInode] = now.get(path)?.split(':') ?? [];
    if (size !== newSize || inode !== newInode) return false;
  }
  return true;
}

/** Returns true when two looks at a checkpoint saw the same files. */
export function isSame(a: Stamps, b: Stamps): boolean {
  if (a.size !== b.size) return false;
  for (const [path, stamp] of a) if (b.get(path) !== stamp) return false;
  return true;
}

/** Returns true when every file that is there now was there before, unchanged. */
export function isPartOf(now: Stamps, before: Stamps): boolean {
  for (const [path, stamp] of now) if (before.get(path) !== stamp) return false;
  return true;
}

/**
 * Returns true when every file that both looks saw was rewritten, so nothing of the older save
 * remains.
 */
export function isRewritten(before: Stamps, now: Stamps): boolean {
  for (const [path, stamp] of before) if (now.get(path) === stamp) return false;
  return true;
}
