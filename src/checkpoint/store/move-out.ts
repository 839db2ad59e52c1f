import { join } from 'node:path';
import { BESIDE_SUFFIX, MANIFEST_NAME } from './layout.ts';
import { readManifestFile } from './read-seals.ts';
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
 * another one under its name: that one is not touched, or brought back at once.
 */
export function moveOut(store: Store, checkpoint: SealedCheckpoint | BrokenSeal, folder: string): boolean {
  const { path } = store;
  if (!isSame(store, checkpoint, path)) return false;
  const moved = moveParts(store, partsOf(checkpoint), folder);
  if (moved.length === 0) return false;
  if (isSame(store, checkpoint, folder)) return true;
  moveBack(store, folder, moved);
  return false;
}

/** After a crash there must be no seal without its files: where there are several parts, the first is gone for good before any other goes. */
function moveParts(store: Store, [first = '', ...others]: readonly string[], folder: string): readonly string[] {
  const { fs, path } = store;
  const move = (name: string): boolean => moveIfThere(store, join(path, name), join(folder, name));
  const moved = move(first) ? [first] : [];
  if (others.length > 0) fs.fsyncFolder(path);
  return [...moved, ...others.filter(move)];
}

/** Moves a checkpoint back into the run's folder. The manifest of one that lies beside its files comes last: until then there is no seal. */
export function moveBack({ fs, path }: Store, folder: string, names: readonly string[]): void {
  for (const name of names.toSorted(sealLast)) {
    if (names.length > 1 && name.endsWith(BESIDE_SUFFIX)) fs.fsyncFolder(path);
    fs.rename(join(folder, name), join(path, name));
  }
}

function sealLast(a: string, b: string): number {
  return Number(a.endsWith(BESIDE_SUFFIX)) - Number(b.endsWith(BESIDE_SUFFIX));
}

/** True when what lies there is of the same save; of a broken seal nobody can tell, and nothing is committed over it. */
function isSame({ fs }: Store, checkpoint: SealedCheckpoint | BrokenSeal, folder: string): boolean {
  if (!('manifest' in checkpoint)) return true;
  const { name, kind, manifest } = checkpoint;
  const file = kind === 'directory' ? join(folder, name, MANIFEST_NAME) : join(folder, `${name}${BESIDE_SUFFIX}`);
  const parsed = readManifestFile(fs, file);
  return parsed?.ok !== true || parsed.manifest.save === manifest.save;
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
