import { join } from 'node:path';
import type { EntryStat } from './durable-fs.ts';
import { BESIDE_SUFFIX, MANIFEST_NAME } from './layout.ts';
import { readManifestFile } from './read-seals.ts';
import { renameIfFree } from './rename-if-free.ts';
import type { BrokenSeal, SealedCheckpoint } from './scan.ts';
import type { Store } from './store.ts';
import { isCode } from './store-error.ts';

/** The names in the run's folder that make up a checkpoint; the manifest first, so that it stops being a checkpoint at once. */
function partsOf(checkpoint: SealedCheckpoint | BrokenSeal): readonly string[] {
  const { name, kind } = checkpoint;
  if (kind === 'directory') return [name];
  const files = 'manifest' in checkpoint ? checkpoint.manifest.files.map(({ path }) => path) : [];
  return [`${name}${BESIDE_SUFFIX}`, ...files];
}

/**
 * Moves a checkpoint out of the run's folder; false when it is not there any more. Meanwhile somebody else may have moved it and committed
 * another one under its name, or begun to write one: that is not touched, or brought back at once.
 */
export function moveOut(store: Store, checkpoint: SealedCheckpoint | BrokenSeal, folder: string): boolean {
  const { fs, path } = store;
  const parts = partsOf(checkpoint);
  const [first = ''] = parts;
  const before = fs.stat(join(path, first));
  if (sealAt(store, checkpoint, path) !== 'same') return false;
  const moved = moveParts(store, parts, folder);
  if (moved.length === 0) return false;
  const seal = sealAt(store, checkpoint, folder);
  if (seal === 'same' || (seal === 'none' && isGoing(before, fs.stat(join(folder, first))))) return true;
  moveBack(store, folder, moved);
  return false;
}

/** Somebody on another machine may delete it where it was moved to, the seal first: then it is what was seen before, or gone. */
function isGoing(before: EntryStat | null, after: EntryStat | null): boolean {
  return after === null || (after.inode === before?.inode && after.device === before.device);
}

/**
 * After a crash there must be no seal without its files: where there are several parts, the first is gone for good before any other goes. Whoever
 * has moved the first moves the others too.
 */
function moveParts(store: Store, [first = '', ...others]: readonly string[], folder: string): readonly string[] {
  const { fs, path } = store;
  const move = (name: string): boolean => moveIfThere(store, join(path, name), join(folder, name));
  if (!move(first)) return [];
  if (others.length > 0) fs.fsyncFolder(path);
  return [first, ...others.filter(move)];
}

/**
 * Moves a checkpoint back into the run's folder, never over what has a name of it by now. The manifest of one that lies beside its files comes last:
 * until then there is no seal.
 */
export function moveBack({ fs, path }: Store, folder: string, names: readonly string[]): void {
  for (const name of names.toSorted(sealLast)) {
    if (names.length > 1 && name.endsWith(BESIDE_SUFFIX)) fs.fsyncFolder(path);
    if (!renameIfFree(fs, join(folder, name), join(path, name))) throw Object.assign(new Error(`${name} is taken`), { code: 'EEXIST' });
  }
}

function sealLast(a: string, b: string): number {
  return Number(a.endsWith(BESIDE_SUFFIX)) - Number(b.endsWith(BESIDE_SUFFIX));
}

/** Whose seal lies there: what has none is somebody else's, who has begun to write. Of a broken one nobody can tell, and nothing is committed over it. */
function sealAt({ fs }: Store, checkpoint: SealedCheckpoint | BrokenSeal, folder: string): 'same' | 'other' | 'none' {
  if (!('manifest' in checkpoint)) return 'same';
  const { name, kind, manifest } = checkpoint;
  const parsed = readManifestFile(fs, kind === 'directory' ? join(folder, name, MANIFEST_NAME) : join(folder, `${name}${BESIDE_SUFFIX}`));
  if (parsed === null) return 'none';
  return parsed.ok && parsed.manifest.save === manifest.save ? 'same' : 'other';
}

/** False when it is not there any more: somebody else was quicker. */
export function moveIfThere({ fs }: Store, from: string, to: string): boolean {
  try {
    fs.rename(from, to);
    return true;
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT')) return false;
    throw thrown;
  }
}
