import { join } from 'node:path';
import type { EntryStat } from '../disk/durable-fs.ts';
import { BESIDE_SUFFIX, MANIFEST_NAME } from '../../seal/names.ts';
import { readManifestFile } from '../folder/read-seals.ts';
import { renameIfFree } from '../disk/rename-if-free.ts';
import type { BrokenSeal, SealedCheckpoint } from '../folder/scan.ts';
import type { Store } from '../folder/store.ts';
import { isCode } from '../disk/store-error.ts';

/**
 * Lists the names that make up a checkpoint, the manifest first: without it the rest is no
 * checkpoint.
 */
function partsOf(checkpoint: SealedCheckpoint | BrokenSeal): readonly string[] {
  const { name, kind } = checkpoint;
  if (kind === 'directory') return [name];
  const files = 'manifest' in checkpoint ? checkpoint.manifest.files.map(({ path }) => path) : [];
  return [`${name}${BESIDE_SUFFIX}`, ...files];
}

/**
 * Moves a checkpoint out of the run's folder; false when it is gone. Another process may have moved
 * it and committed a new one under its name, or started to write one. Holdfast leaves a new one
 * alone, or restores it at once.
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

/**
 * True when the moved entry is the one seen before, or is gone: a process on another machine may
 * delete it there, the seal first.
 */
function isGoing(before: EntryStat | null, after: EntryStat | null): boolean {
  return after === null || (after.inode === before?.inode && after.device === before.device);
}

/**
 * Moves the parts and returns the names that it moved. After a crash there must be no seal without
 * its files. So with several parts, the move of the first is durable before the others start. The
 * process that moved the first part moves the others too.
 */
function moveParts(store: Store, [first = '', ...others]: readonly string[], folder: string): readonly string[] {
  const { fs, path } = store;
  const move = (name: string): boolean => moveIfThere(store, join(path, name), join(folder, name));
  if (!move(first)) return [];
  if (others.length > 0) fs.fsyncFolder(path);
  return [first, ...others.filter(move)];
}

/**
 * Moves a checkpoint back into the run's folder, never over a taken name. A manifest beside its
 * files comes last: until then there is no seal.
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

/**
 * Compares the seal in a folder with the checkpoint. An entry without a seal belongs to another
 * writer. A broken seal cannot be compared, and no commit replaces it.
 */
function sealAt({ fs }: Store, checkpoint: SealedCheckpoint | BrokenSeal, folder: string): 'same' | 'other' | 'none' {
  if (!('manifest' in checkpoint)) return 'same';
  const { name, kind, manifest } = checkpoint;
  const parsed = readManifestFile(fs, kind === 'directory' ? join(folder, name, MANIFEST_NAME) : join(folder, `${name}${BESIDE_SUFFIX}`));
  if (parsed === null) return 'none';
  return parsed.ok && parsed.manifest.save === manifest.save ? 'same' : 'other';
}

/** Moves one name; false when it is gone, because another process was quicker. */
export function moveIfThere({ fs }: Store, from: string, to: string): boolean {
  try {
    fs.rename(from, to);
    return true;
  } catch (thrown) {
    if (isCode(thrown, 'ENOENT')) return false;
    throw thrown;
  }
}
