import { realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { BESIDE_SUFFIX, MANIFEST_NAME, setOf } from '../../seal/names.ts';
import type { Manifest, SealedFile } from '../../seal/manifest.ts';
import { besideSeal } from '../folder/read-seals.ts';
import { renameIfFree } from '../disk/rename-if-free.ts';
import { besideOthers, type Place } from './seal-place.ts';
import type { OpenStore, Store } from '../folder/store.ts';
import { storeError } from '../disk/store-error.ts';

/**
 * Moves a checkpoint from elsewhere into the run's folder. A folder moves in one rename; files need
 * several. The manifest, durable at the source, records the files to move, and moves last. A kill
 * in between leaves some files there and some here, no seal in the run, and that manifest. The same
 * command then finds the missing files by it, and resumes.
 */

/** A move of which some files have arrived already. */
export interface BegunMove {
  /** The source; its members are the files that are still there. */
  readonly place: Place;
  readonly manifest: Manifest;
  readonly still: readonly SealedFile[];
  readonly moved: readonly SealedFile[];
}

/**
 * Finds the interrupted move that started at this path, or null. The path may be any file of a set,
 * or their common prefix.
 */
export function findBegunMove(store: Store, path: string): BegunMove | null {
  const home = dirname(path);
  for (const name of new Set([basename(path), setOf(basename(path)) ?? basename(path)])) {
    const parsed = besideSeal(store.fs, home, `${name}${BESIDE_SUFFIX}`)?.parsed;
    if (parsed?.ok !== true || parsed.manifest.run !== store.run || isFolderOf(store, home)) continue;
    const found = divide(store, home, parsed.manifest);
    if (found === null) continue;
    const members = found.still.map((file) => file.path);
    return { place: besideOthers(home, name, members), manifest: parsed.manifest, ...found };
  }
  return null;
}

/**
 * Splits the files into those still there and those here; null when none has arrived, or one is in
 * neither place.
 */
function divide({ fs, path: run }: Store, home: string, { files }: Manifest): Pick<BegunMove, 'still' | 'moved'> | null {
  const still = files.filter((file) => fs.stat(join(home, file.path)) !== null);
  const moved = files.filter((file) => !still.includes(file));
  return moved.length > 0 && moved.every((file) => fs.stat(join(run, file.path)) !== null) ? { still, moved } : null;
}

/** True when the checkpoint lies outside the run's folder. */
export function liesElsewhere(store: Store, { path }: Place): boolean {
  return !isFolderOf(store, dirname(path));
}

function isFolderOf({ path: run }: Store, folder: string): boolean {
  return realpathSync(folder) === realpathSync(run);
}

/** Refuses a checkpoint whose names are taken: a move replaces nothing in the run. */
export function assertNamesFree({ fs, path: run }: Store, place: Place): void {
  const taken = namesOf(place).find((name) => fs.stat(join(run, name)) !== null);
  if (taken !== undefined) throw nameTaken(join(run, taken));
}

function nameTaken(path: string): HoldfastError {
  return new HoldfastError('NAME_TAKEN', {
    message: `${printable(path)} already exists`,
    hint: 'Holdfast never replaces anything: rename one of them.',
  });
}

function namesOf({ kind, name, members, manifestFile }: Place): readonly string[] {
  return kind === 'files' ? [...members, basename(manifestFile)] : [name];
}

/** Moves a checkpoint that is sealed elsewhere into the run's folder, and returns its new path. */
export function moveIn(store: OpenStore, place: Place): Pick<Place, 'path' | 'manifestFile'> {
  const { fs, path: run } = store;
  const { kind, members, manifestFile } = place;
  const home = dirname(place.path);
  const bring = (from: string, name: string): void => {
    if (!renameIfFree(fs, from, join(run, name))) throw nameTaken(join(run, name));
  };
  try {
    assertNamesFree(store, place);
    if (kind === 'directory') bring(place.path, place.name);
    else {
      // Makes the record durable before the files move, also for a process that died before its
      // sync. No seal may arrive without its files.
      fs.fsyncFolder(home);
      for (const name of members) bring(join(home, name), name);
      fs.fsyncFolder(run);
      bring(manifestFile, basename(manifestFile));
    }
    fs.fsyncFolder(run);
    fs.fsyncFolder(home);
  } catch (thrown) {
    throw storeError(thrown, 'move into the run', place.path);
  }
  const path = join(run, place.name);
  return { path, manifestFile: kind === 'files' ? `${path}${BESIDE_SUFFIX}` : join(path, MANIFEST_NAME) };
}
