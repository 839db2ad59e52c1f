import { basename, join } from 'node:path';
import { type CheckOptions, checkFiles } from '../folder/check-sealed.ts';
import type { EntryStat } from '../disk/durable-fs.ts';
import type { Manifest, SealedFile } from '../../seal/manifest.ts';
import { moveIfThere } from './move-out.ts';
import { type FoundSeal, readSeals } from '../folder/read-seals.ts';
import { renameIfFree } from '../disk/rename-if-free.ts';
import type { Store } from '../folder/store.ts';

/**
 * Finishes deletions of single-file checkpoints. These go to their trash entry name by name, the
 * manifest first. A prune that is killed in between leaves files in the run's folder, named only by
 * the manifest in the entry. The entry stays until these files have followed.
 */

/**
 * Files of a deleted checkpoint that still lie in the run's folder, judged by names, sizes and
 * times.
 */
export interface DeletionLeftovers {
  readonly seal: FoundSeal;
  readonly manifest: Manifest;
  readonly files: readonly SealedFile[];
}

/** Lists the leftovers of the save that the entry was made for, and ignores other saves in it. */
export function leftoversOf(store: Store, entry: string, isMeant: (save: string) => boolean): DeletionLeftovers | null {
  const { fs } = store;
  if (fs.stat(entry)?.kind !== 'folder') return null;
  for (const seal of readSeals(fs, entry)) {
    const { kind, parsed, manifestFile } = seal;
    if (kind !== 'files' || !parsed.ok || !isMeant(parsed.manifest.save) || isSealedAnew(store, seal)) continue;
    const sealedMs = fs.stat(manifestFile)?.mtimeMs ?? 0;
    const files = parsed.manifest.files.filter((file) => isLeft(fs.stat(join(store.path, file.path)), file, sealedMs));
    if (files.length > 0) return { seal, manifest: parsed.manifest, files };
  }
  return null;
}

/**
 * True for a leftover. A file written after the seal, or restored since, is a new file with an old
 * name.
 */
function isLeft(stat: EntryStat | null, { size }: SealedFile, sealedMs: number): boolean {
  return stat?.kind === 'file' && stat.size === size && stat.mtimeMs <= sealedMs;
}

function isSealedAnew({ fs, path }: Store, { manifestFile }: FoundSeal): boolean {
  return fs.stat(join(path, basename(manifestFile))) !== null;
}

/**
 * Moves the leftovers into the trash entry if they equal the sealed files byte for byte. Returns
 * `unknown` when a file could not be read, so nothing is known yet. Returns `another` when the move
 * caught a replaced file that cannot go back, because its name is taken again.
 */
export async function takeLeftovers(
  store: Store,
  entry: string,
  leftovers: DeletionLeftovers,
  options: CheckOptions,
): Promise<'taken' | 'unknown' | 'another'> {
  const { fs, path } = store;
  const { seal, manifest } = leftovers;
  let outcome: 'taken' | 'unknown' = 'taken';
  for (const file of leftovers.files) {
    const [from, to] = [join(path, file.path), join(entry, file.path)];
    const before = fs.stat(from);
    const problem = await checkFiles(store, { name: seal.name, root: path, manifest: { ...manifest, files: [file] } }, options);
    if (problem?.state === 'unreadable') outcome = 'unknown';
    if (problem !== null || isSealedAnew(store, seal)) continue;
    if (!moveIfThere(store, from, to)) continue;
    // Another process may have replaced the file, or sealed it, in the meantime.
    const isAnother = JSON.stringify(before) !== JSON.stringify(fs.stat(to)) || isSealedAnew(store, seal);
    if (isAnother && !renameIfFree(fs, to, from)) return 'another';
  }
  return outcome;
}
