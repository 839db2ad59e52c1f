import { join } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { BESIDE_SUFFIX, MANIFEST_NAME } from '../../seal/names.ts';
import type { Manifest } from '../../seal/manifest.ts';
import { readManifestFile } from '../../store/folder/read-seals.ts';
import { renameIfFree } from '../../store/disk/rename-if-free.ts';
import type { SealedCheckpoint } from '../../store/folder/scan.ts';
import type { OpenStore } from '../../store/folder/store.ts';
import { isCode } from '../../store/disk/store-error.ts';
import { foldersTo } from '../../store/disk/walk-files.ts';
import { ownName } from '../pointer/copy-name.ts';
import { isWhole } from './fetch-file.ts';
import type { CheckpointKind } from '../backends/keys.ts';
import type { RemoteCheckpoint } from '../pointer/remote-checkpoint.ts';

/** The place of a fetched checkpoint in the folder of its run. */
export interface LocalPlace {
  readonly name: string;
  /** Whether the sealed checkpoint is already there. */
  readonly isThere: boolean;
  /**
   * Files that are already in place and complete. A run that stopped before the manifest, which
   * comes last, has left them.
   */
  readonly placed: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * Finds the place of a checkpoint: its own name, or a name only this save has, if another sealed
 * checkpoint has its own. Anything else in the way is an error: fetch never replaces anything.
 */
export async function findPlace(
  store: OpenStore,
  { name, kind, manifest }: RemoteCheckpoint,
  options: { readonly signal: AbortSignal },
): Promise<LocalPlace> {
  const own = lookAt(store, { name, kind }, manifest);
  if (own === 'free') return { name, isThere: false, placed: kind === 'files' ? await findPlaced(store, manifest, options) : NONE };
  const other = ownName(name, manifest.save);
  const found = own === 'sealed' && kind === 'directory' ? lookAt(store, { name: other, kind }, manifest) : own;
  if (found === 'free') return { name: other, isThere: false, placed: NONE };
  if (found === 'sealed' || found === 'taken') throw taken(join(store.path, name));
  await assertWhole(store, found);
  return { name: found.name, isThere: true, placed: NONE };
}

/**
 * Lists which files of a checkpoint without a folder are in place. A different file in the way is
 * an error.
 */
async function findPlaced(
  { fs, path }: OpenStore,
  { files }: Manifest,
  { signal }: { readonly signal: AbortSignal },
): Promise<ReadonlySet<string>> {
  const placed = new Set<string>();
  for (const file of files) {
    const own = join(path, file.path);
    if (fs.stat(own) === null) continue;
    if (!(await isWhole(path, own, file, signal))) throw taken(own);
    placed.add(file.path);
  }
  return placed;
}

/** Says what has the name: nothing, this checkpoint, another one of the run, or something else. */
function lookAt(
  { fs, path, run }: OpenStore,
  { name, kind }: { readonly name: string; readonly kind: CheckpointKind },
  { save }: Manifest,
): 'free' | 'sealed' | 'taken' | Omit<SealedCheckpoint, 'root'> {
  const manifestFile = kind === 'directory' ? join(path, name, MANIFEST_NAME) : join(path, `${name}${BESIDE_SUFFIX}`);
  const own = readManifestFile(fs, manifestFile);
  if (own?.ok === true) {
    const { manifest } = own;
    if (manifest.save === save) return { name, kind, manifest, manifestFile, path: join(path, name) };
    return manifest.run === run ? 'sealed' : 'taken';
  }
  // Files beside other files are checked one by one.
  return own === null && (kind === 'files' || fs.stat(join(path, name)) === null) ? 'free' : 'taken';
}

function taken(path: string): HoldfastError {
  return new HoldfastError('NAME_TAKEN', {
    message: `${printable(path)} already exists, and it is not this checkpoint`,
    hint: 'Holdfast never replaces anything. Move it away, or fetch into another folder.',
  });
}

/** Checks the files, too: the seal alone does not prove that the checkpoint is here. */
async function assertWhole(store: OpenStore, here: Omit<SealedCheckpoint, 'root'>): Promise<void> {
  // Loaded late, because it pulls in all code about checkpoints and a first fetch does not need it.
  const { checkPresence } = await import('../../store/folder/check-sealed.ts');
  const problem = checkPresence(store, { ...here, root: here.kind === 'directory' ? here.path : store.path });
  if (problem === null) return;
  throw new HoldfastError('CHECKPOINT_NOT_GOOD', {
    message: `${printable(here.path)} is this checkpoint, but not whole: ${problem.reason}`,
    hint: 'Holdfast never replaces anything. holdfast resume RUN moves a bad one to quarantine; then fetch it again.',
  });
}

/**
 * Puts a checkpoint in place once every byte is on disk: first the folders, then the manifest and
 * the names. The manifest's name comes last.
 */
export function putInPlace(
  { fs, path }: OpenStore,
  staging: string,
  { kind, manifest, text }: RemoteCheckpoint,
  { name, placed }: LocalPlace,
): void {
  const data = join(staging, 'data');
  const manifestFile = kind === 'directory' ? join(data, MANIFEST_NAME) : join(staging, 'manifest');
  // An earlier run may have been killed between here and the rename.
  if (fs.stat(manifestFile) !== null) fs.unlink(manifestFile);
  fs.writeFile(manifestFile, text);
  fs.fsyncFile(manifestFile);
  for (const folder of foldersTo(manifest.files)) fs.fsyncFolder(join(data, folder));
  const put = (from: string, to: string): void => {
    if (!renameIfFree(fs, from, to)) throw appeared(to);
  };
  if (kind === 'directory') put(data, join(path, name));
  else {
    for (const file of manifest.files) {
      const own = join(path, file.path);
      if (placed.has(file.path)) fs.fsyncFile(own);
      else put(join(data, file.path), own);
    }
    fs.fsyncFolder(path);
    put(manifestFile, join(path, `${name}${BESIDE_SUFFIX}`));
  }
  fs.fsyncFolder(path);
  removeStaging(fs, staging, kind);
}

function appeared(path: string): HoldfastError {
  return new HoldfastError('NAME_TAKEN', {
    message: `${printable(path)} appeared while the checkpoint was fetched`,
    hint: 'Holdfast never replaces anything. Move it away and run the same command again: nothing is downloaded twice.',
  });
}

function removeStaging(fs: OpenStore['fs'], staging: string, kind: CheckpointKind): void {
  try {
    if (kind === 'files') fs.rmdir(join(staging, 'data'));
    fs.rmdir(staging);
  } catch (thrown) {
    if (!isCode(thrown, 'ENOTEMPTY', 'EEXIST', 'ENOENT')) throw thrown;
  }
}
