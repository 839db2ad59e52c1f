import { realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { BESIDE_SUFFIX, MANIFEST_NAME, setOf } from './layout.ts';
import type { Manifest, SealedFile } from './manifest.ts';
import { besideSeal } from './read-seals.ts';
import { renameIfFree } from './rename-if-free.ts';
import { besideOthers, type Place } from './seal-place.ts';
import type { OpenStore, Store } from './store.ts';
import { storeError } from './store-error.ts';

/**
 * A checkpoint from elsewhere comes into the run's folder. A folder does so in one rename. Files need several: the manifest, durable where they
 * come from, is the record of what is to come, and goes last. Whoever is killed in between leaves some files there and some here, no seal in
 * the run, and that manifest; who says the same again finds by it what is missing, and goes on.
 */

/** One of which some files have come already. */
export interface BegunMove {
  /** Where it comes from; its members are those that are still there. */
  readonly place: Place;
  readonly manifest: Manifest;
  readonly still: readonly SealedFile[];
  readonly moved: readonly SealedFile[];
}

/** The move that was begun with what lay at this path, or null. Any file of a set may be meant, or what they begin with. */
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

/** What is still there and what is here; null when nothing has come yet, or something is nowhere. */
function divide({ fs, path: run }: Store, home: string, { files }: Manifest): Pick<BegunMove, 'still' | 'moved'> | null {
  const still = files.filter((file) => fs.stat(join(home, file.path)) !== null);
  const moved = files.filter((file) => !still.includes(file));
  return moved.length > 0 && moved.every((file) => fs.stat(join(run, file.path)) !== null) ? { still, moved } : null;
}

/** Whether it is to be moved at all. */
export function liesElsewhere(store: Store, { path }: Place): boolean {
  return !isFolderOf(store, dirname(path));
}

function isFolderOf({ path: run }: Store, folder: string): boolean {
  return realpathSync(folder) === realpathSync(run);
}

/** Nothing in the run is ever replaced. */
export function assertNamesFree({ fs, path: run }: Store, place: Place): void {
  const taken = namesOf(place).find((name) => fs.stat(join(run, name)) !== null);
  if (taken !== undefined) throw nameTaken(join(run, taken));
}

function nameTaken(path: string): HoldfastError {
  return new HoldfastError('NAME_TAKEN', {
    message: `${printable(path)} is there already`,
    hint: 'Nothing is replaced: rename one of them.',
  });
}

function namesOf({ kind, name, members, manifestFile }: Place): readonly string[] {
  return kind === 'files' ? [...members, basename(manifestFile)] : [name];
}

/** Moves what is sealed elsewhere into the run's folder, and says where it lies then. */
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
      // The record comes before what it tells of, also where whoever left it died before its sync; and no seal without its files.
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
