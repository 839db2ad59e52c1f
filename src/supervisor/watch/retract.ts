import { dirname, join } from 'node:path';
import type { DurableFs } from '../../store/disk/durable-fs.ts';
import { BESIDE_SUFFIX } from '../../seal/names.ts';
import { rememberChanged } from '../../store/folder/last-good-cache.ts';
import { readManifestFile } from '../../store/folder/read-seals.ts';
import type { OpenStore } from '../../store/folder/store.ts';
import { isCode } from '../../store/disk/store-error.ts';
import type { Entry } from './look.ts';

/**
 * Removes a seal whose checkpoint the framework has begun to replace or delete. The sealed bytes no
 * longer exist, so nothing is lost. A seal that stayed would make a new save look damaged. A folder
 * that holds only the seal is removed too, because the framework meant to delete it.
 */
export function retractSeal(
  fs: DurableFs,
  { kind, path, manifestFile, stamps }: Pick<Entry, 'kind' | 'path' | 'manifestFile' | 'stamps'>,
): void {
  quietly(() => fs.unlink(manifestFile));
  if (kind === 'directory' && stamps.size === 0) quietly(() => fs.rmdir(path));
  quietly(() => fs.fsyncFolder(dirname(manifestFile)));
}

/** Removes the seal of a checkpoint whose files are gone; only a manifest beside it may remain. */
export function retractGone(fs: DurableFs, folder: string, name: string): void {
  const path = join(folder, name);
  retractSeal(fs, { kind: 'files', path, manifestFile: `${path}${BESIDE_SUFFIX}`, stamps: new Map<string, string>() });
}

function quietly(act: () => void): void {
  try {
    act();
  } catch (thrown) {
    if (!isCode(thrown, 'ENOENT', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST')) throw thrown;
  }
}

/**
 * Moves the void seal of a rewritten checkpoint aside so that a new one can be made. Pass the
 * result to {@link putBack}.
 */
export function takeAside({ fs }: Pick<OpenStore, 'fs'>, entry: Entry): Buffer | null {
  const seal = fs.stat(entry.manifestFile)?.kind === 'file' ? fs.readFile(entry.manifestFile) : null;
  retractSeal(fs, entry);
  return seal;
}

/**
 * Puts a void seal back, because the sealed bytes are damaged and not replaced. The next resume
 * compares every byte with the seal and moves the checkpoint to quarantine. Nothing is moved while
 * the framework may still use it.
 */
export function putBack(store: OpenStore, { manifestFile }: Entry, seal: Buffer): void {
  const { fs } = store;
  try {
    fs.writeFile(manifestFile, seal);
  } catch (thrown) {
    // Another seal has taken its place.
    if (!isCode(thrown, 'EEXIST', 'ENOENT', 'ENOTDIR')) throw thrown;
    return;
  }
  fs.fsyncFile(manifestFile);
  fs.fsyncFolder(dirname(manifestFile));
  const parsed = readManifestFile(fs, manifestFile);
  if (parsed?.ok === true) rememberChanged(store, parsed.manifest);
}
