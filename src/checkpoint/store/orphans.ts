import { basename, join } from 'node:path';
import { type CheckOptions, checkFiles } from './check-sealed.ts';
import type { EntryStat } from './durable-fs.ts';
import type { Manifest, SealedFile } from './manifest.ts';
import { moveIfThere } from './move-out.ts';
import { type FoundSeal, readSeals } from './read-seals.ts';
import { renameIfFree } from './rename-if-free.ts';
import type { Store } from './store.ts';

/**
 * A checkpoint of files beside others goes to its grave name by name, its manifest first. Whoever is killed in between leaves files in the run's folder that
 * nothing names any more but the manifest in the grave. Until they are taken along, the grave stays.
 */

/** Files of a checkpoint in a grave that still lie in the run's folder, as far as names, sizes and times tell. */
export interface Orphans {
  readonly seal: FoundSeal;
  readonly manifest: Manifest;
  readonly files: readonly SealedFile[];
}

/** Those of one save; others that may lie in the grave are not meant by whoever dug it. */
export function orphansOf(store: Store, grave: string, isMeant: (save: string) => boolean): Orphans | null {
  const { fs } = store;
  if (fs.stat(grave)?.kind !== 'folder') return null;
  for (const seal of readSeals(fs, grave)) {
    const { kind, parsed, manifestFile } = seal;
    if (kind !== 'files' || !parsed.ok || !isMeant(parsed.manifest.save) || isSealedAnew(store, seal)) continue;
    const sealedMs = fs.stat(manifestFile)?.mtimeMs ?? 0;
    const files = parsed.manifest.files.filter((file) => isLeft(fs.stat(join(store.path, file.path)), file, sealedMs));
    if (files.length > 0) return { seal, manifest: parsed.manifest, files };
  }
  return null;
}

/** What was written after the seal, or put back since, is somebody's new file with an old name. */
function isLeft(stat: EntryStat | null, { size }: SealedFile, sealedMs: number): boolean {
  return stat?.kind === 'file' && stat.size === size && stat.mtimeMs <= sealedMs;
}

function isSealedAnew({ fs, path }: Store, { manifestFile }: FoundSeal): boolean {
  return fs.stat(join(path, basename(manifestFile))) !== null;
}

/**
 * Takes along to the grave what is, byte for byte, what was to be deleted; nothing else. `unknown` when something could not be read: then nobody knows yet.
 * `another` when a file of somebody else has come along in that very moment, and cannot go back, because its name is taken again.
 */
export async function takeOrphans(
  store: Store,
  grave: string,
  orphans: Orphans,
  options: CheckOptions,
): Promise<'taken' | 'unknown' | 'another'> {
  const { fs, path } = store;
  const { seal, manifest } = orphans;
  let outcome: 'taken' | 'unknown' = 'taken';
  for (const file of orphans.files) {
    const [from, to] = [join(path, file.path), join(grave, file.path)];
    const before = fs.stat(from);
    const problem = await checkFiles(store, { name: seal.name, root: path, manifest: { ...manifest, files: [file] } }, options);
    if (problem?.state === 'unreadable') outcome = 'unknown';
    if (problem !== null || isSealedAnew(store, seal)) continue;
    if (!moveIfThere(store, from, to)) continue;
    // Somebody may have put another one there, or sealed it, in the meantime.
    const isAnother = JSON.stringify(before) !== JSON.stringify(fs.stat(to)) || isSealedAnew(store, seal);
    if (isAnother && !renameIfFree(fs, to, from)) return 'another';
  }
  return outcome;
}
