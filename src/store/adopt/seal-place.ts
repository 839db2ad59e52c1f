import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import type { DurableFs } from '../disk/durable-fs.ts';
import { BESIDE_SUFFIX, MANIFEST_NAME, setOf, STORE_FOLDER } from '../../seal/names.ts';
import type { Store } from '../folder/store.ts';
import { type FoundFile, walkFiles } from '../disk/walk-files.ts';

/** Where the files of a checkpoint to seal lie. */
export interface Place {
  readonly kind: 'directory' | 'files';
  readonly name: string;
  /** The folder that the files' paths start from. */
  readonly root: string;
  /**
   * The path for a trainer. For a set it is the common prefix of its files, which is no path of its
   * own.
   */
  readonly path: string;
  readonly manifestFile: string;
  /** The names of its files in the folder, when it is a set of files. */
  readonly members: readonly string[];
}

/** The entries of a checkpoint to seal, as listed. */
export interface Listed {
  readonly files: readonly FoundFile[];
  readonly folders: readonly string[];
}

/**
 * Finds the checkpoint that the user means by a path: a folder, a file, any file of a set, or their
 * common prefix.
 */
export function locate(store: Store, path: string): Place {
  const place = find(store, path);
  const { name, kind } = place;
  if (name.startsWith('.')) throw notSealable(place.path, 'begins with a dot, and Holdfast skips such names', 'Give it another name.');
  if (kind === 'directory' && name.endsWith(BESIDE_SUFFIX)) {
    throw notSealable(place.path, 'has the name of a manifest, and would be mistaken for one', 'Give it another name.');
  }
  return place;
}

function find({ fs, path: run }: Store, path: string): Place {
  const stat = fs.stat(path);
  switch (stat?.kind) {
    case 'folder':
      return locateFolder(fs, run, path);
    case 'file':
      return locateSet(fs, dirname(path), setOf(basename(path))) ?? locateFile(path);
    case 'other':
      throw lstatSync(path).isSymbolicLink()
        ? notSealable(path, 'is a link', 'Give the checkpoint that it leads to.')
        : notSealable(path, 'is neither a file nor a directory', 'Give the checkpoint itself.');
    case undefined: {
      const set = locateSet(fs, dirname(path), basename(path));
      if (set !== null) return set;
      throw new HoldfastError('PATH_NOT_FOUND', { message: `${printable(path)} does not exist`, hint: whereElse(fs, run, path) });
    }
  }
}

/** A person repeats the command after a kill, or when the answer got lost. */
function whereElse(fs: DurableFs, run: string, path: string): string {
  const moved = resolve(run, basename(path));
  if (moved === path || (fs.stat(moved) ?? fs.stat(`${moved}${BESIDE_SUFFIX}`)) === null) return 'Check the spelling.';
  return `It may have been moved into the run before: ${printable(moved)} exists, and holdfast ls shows whether it is sealed.`;
}

function locateFolder(fs: DurableFs, run: string, path: string): Place {
  if (dirname(path) === path) throw notSealable(path, 'is the root of the file system', 'Give a checkpoint: a folder, or a file.');
  const isRun = fs.stat(join(path, STORE_FOLDER)) !== null || resolve(run) === path;
  if (isRun) throw notSealable(path, 'is the folder of a run', 'Give one of the checkpoints in it.');
  return { kind: 'directory', name: basename(path), root: path, path, manifestFile: join(path, MANIFEST_NAME), members: [] };
}

function locateFile(path: string): Place {
  const name = basename(path);
  if (name.endsWith(BESIDE_SUFFIX) || name === MANIFEST_NAME) throw notSealable(path, 'is a manifest', 'Give the checkpoint it seals.');
  return besideOthers(dirname(path), name, [name]);
}

/** Finds the files in a folder that make up one checkpoint. */
export function besideOthers(root: string, name: string, members: readonly string[]): Place {
  const path = join(root, name);
  return { kind: 'files', name, root, path, manifestFile: `${path}${BESIDE_SUFFIX}`, members };
}

/** Returns null where there is no such set. */
function locateSet(fs: DurableFs, root: string, prefix: string | null): Place | null {
  if (prefix === null || fs.stat(join(root, `${prefix}.index`))?.kind !== 'file') return null;
  const members = fs.list(root).filter((name) => setOf(name) === prefix);
  const twice = members.find((name, index) => name === members[index - 1]);
  if (twice !== undefined) throw notSealable(join(root, twice), 'has a name that is not UTF-8', 'Give it another name.');
  return besideOthers(root, prefix, members);
}

/** Lists every file of it, and every folder on the way to them. */
export function listFiles({ fs }: Store, place: Place): Listed {
  if (place.kind === 'files') return { files: place.members.map((name) => lookAtMember(fs, place, name)), folders: [] };
  const { files, folders, others, nameless } = walkFiles(fs, place.root);
  const stranger = nameless[0] ?? others.find((path) => !leadsInside(place.root, path));
  if (stranger !== undefined) {
    throw notSealable(
      join(place.root, stranger),
      'is neither a file nor a folder, or a link that leads elsewhere, or has a name that is not UTF-8',
      'Copy what it leads to, or give it another name.',
    );
  }
  if (files.length === 0) throw notSealable(place.path, 'has no files', 'Is this the right folder?');
  return { files, folders };
}

function lookAtMember(fs: DurableFs, place: Place, name: string): FoundFile {
  const { kind, ...facts } = fs.stat(join(place.root, name)) ?? { kind: null };
  if (kind === 'file' && 'size' in facts) return { path: name, ...facts };
  throw changed(place);
}

/** A link to another file of the same checkpoint (`last.ckpt`) is only another name. */
function leadsInside(root: string, path: string): boolean {
  try {
    return realpathSync(join(root, path)).startsWith(realpathSync(root) + sep);
  } catch {
    return false;
  }
}

/** Makes the error for a checkpoint that changed during its seal. */
export function changed({ path }: Pick<Place, 'path'>): HoldfastError {
  return new HoldfastError('CHECKPOINT_CHANGED', {
    message: `${printable(path)} changed while it was read`,
    hint: 'A process is still writing it. Seal it when its writer is done.',
  });
}

/** Makes the error for a path that cannot be sealed, and why. */
export function notSealable(path: string, problem: string, hint: string): HoldfastError {
  return new HoldfastError('CHECKPOINT_NOT_SEALABLE', { message: `${printable(path)} ${problem}`, hint });
}
