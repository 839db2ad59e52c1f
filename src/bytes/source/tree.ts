import { type Dirent, lstatSync, opendirSync, readlinkSync, realpathSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { printable } from '../../core/printable.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import { BESIDE_SUFFIX } from '../../seal/names.ts';
import type { ByteSource } from './byte-source.ts';
import type { Directory, Entry } from './directory.ts';
import { HeldFolders } from './held-folders.ts';
import { naturalOrder } from './natural-order.ts';
import { OpenFiles, unreadable } from './open-files.ts';
import { SourceError } from './source-error.ts';
import { fileIdentity } from './writers.ts';

/** A file as it is now. */
export interface FreshLook {
  /** Below the root, without links. */
  readonly path: string;
  /** The same for all names of one file. */
  readonly identity: string;
  readonly size: number;
  /** Bytes the disk holds for it. */
  readonly allocated: number;
}

/**
 * The folders and files below one root. Folders are listed when they are first asked for, sizes and
 * times are fetched when they are first needed, and nothing outside the root is ever opened: a link
 * is followed only when its real target lies inside.
 */
export class Tree {
  readonly root: Directory;
  /** The root's absolute path without links. */
  readonly real: string;
  readonly folders: HeldFolders;
  readonly files: OpenFiles;
  #entries = 0;
  #names = 0;

  /**
   * A tree over a directory, or over the folder of a single file, of which then only `only` and its
   * manifest are seen.
   */
  constructor(real: string, only: string | null = null) {
    this.real = real;
    this.folders = new HeldFolders(real);
    this.files = new OpenFiles(this.folders);
    this.root = new ListedDirectory(this, '', only);
  }

  get bytesRead(): number {
    return this.files.bytesRead;
  }

  close(): void {
    this.files.close();
    this.folders.close();
  }

  /** Counts a listed name; false when the tree is larger than Holdfast is willing to look at. */
  admit(name: string): boolean {
    this.#names += name.length;
    return ++this.#entries <= LIMITS.treeEntries && this.#names <= LIMITS.treeNames;
  }

  /**
   * Looks at a file below the root afresh; throws a {@link SourceError} when it is gone or leads
   * out of the root by now.
   */
  look(file: string): FreshLook {
    try {
      const path = this.#resolve(join(this.real, file));
      if (path === null) throw new SourceError('FILE_LINK_OUTSIDE', file, `${printable(file)} leads out of the directory`);
      const stats = lstatSync(this.pathTo(path));
      return { path, identity: fileIdentity(stats), size: stats.size, allocated: stats.blocks * 512 };
    } catch (thrown) {
      throw thrown instanceof SourceError ? thrown : unreadable(file, thrown);
    }
  }

  /**
   * Where a link below the root leads, as a path below the root without links; null where it leads
   * out of the root.
   */
  follow(link: string): string | null {
    return this.#resolve(join(this.real, link));
  }

  /**
   * A path to what lies `below` the root, in the folder that is held: only the last name is looked
   * up.
   */
  pathTo(below: string): string {
    const [folder, name] = split(below);
    return `${this.folders.at(folder)}/${name}`;
  }

  #resolve(path: string): string | null {
    const real = realpathSync(path);
    return this.contains(real) ? relative(this.real, real) : null;
  }

  contains(real: string): boolean {
    return real === this.real || real.startsWith(this.real.endsWith(sep) ? this.real : this.real + sep);
  }
}

function split(path: string): readonly [string, string] {
  const end = path.lastIndexOf('/');
  return [path.slice(0, Math.max(end, 0)), path.slice(end + 1)];
}

/**
 * Opens the tree for a path the user gave; the path itself may be a link, since the user named it.
 * An exact path is one that another folder vouches for: no component of it is followed.
 */
export function openTree(path: string, isExact = false): { tree: Tree; file: string | null } {
  const real = isExact ? resolve(path) : realpathSync(path);
  if (statSync(real).isDirectory()) return { tree: new Tree(real), file: null };
  return { tree: new Tree(dirname(real), SET_MEMBER.test(real) ? null : basename(real)), file: basename(real) };
}

/** A file that makes sense only with its siblings; for these the whole folder is listed. */
const SET_MEMBER = /\.index(\.json)?$|\.weights\.json$|_\d{5}\.weights\.h5$|\.data-\d{5}-of-\d{5}$|-\d{5}-of-\d{5}\.(safetensors|bin)$/;

/** Answers of one folder that are remembered. */
const MATCHES_KEPT = 32;

class ListedDirectory implements Directory {
  readonly path: string;
  #tree: Tree;
  #only: string | null;
  #entries: Map<string, Entry> | null = null;
  #problem: SourceError | null = null;
  #children = new Map<string, Directory | null>();
  #matching = new Map<string, readonly Entry[]>();

  constructor(tree: Tree, path: string, only: string | null = null) {
    this.#tree = tree;
    this.path = path;
    this.#only = only;
  }

  get name(): string {
    return basename(join(this.#tree.real, this.path));
  }

  get entries(): ReadonlyMap<string, Entry> {
    this.#entries ??= this.#list();
    return this.#entries;
  }

  get problem(): SourceError | null {
    this.#entries ??= this.#list();
    return this.#problem;
  }

  /**
   * Sorted once for each pattern: a folder with many checkpoints is asked the same for each of
   * them.
   */
  files(pattern: RegExp): readonly Entry[] {
    const key = String(pattern);
    const known = this.#matching.get(key);
    if (known !== undefined) return known;
    const found: Entry[] = [];
    for (const entry of this.entries.values()) if (pattern.test(entry.name) && entry.kind === 'file') found.push(entry);
    found.sort((a, b) => naturalOrder(a.name, b.name));
    if (this.#matching.size < MATCHES_KEPT) this.#matching.set(key, found);
    return found;
  }

  has(name: string): boolean {
    return this.entries.has(name);
  }

  pathOf(name: string): string {
    return this.path === '' ? name : `${this.path}/${name}`;
  }

  directory(name: string): Directory | null {
    const known = this.#children.get(name);
    if (known !== undefined) return known;
    const entry = this.entries.get(name);
    const isFolder = entry?.kind === 'directory' && !entry.isLink;
    const child = isFolder ? new ListedDirectory(this.#tree, this.pathOf(name)) : null;
    this.#children.set(name, child);
    return child;
  }

  open(name: string): ByteSource {
    const file = this.pathOf(name);
    const entry = this.entries.get(name);
    if (entry === undefined) throw new SourceError('FILE_MISSING', file, `${printable(file)} is missing`);
    const refusal = REFUSALS[entry.kind];
    if (refusal !== null) throw new SourceError(refusal.code, file, `${printable(file)} ${refusal.says}`);
    return this.#tree.files.source({ ...this.#placeOf(entry, file), file }, entry.size);
  }

  /** Where the file itself lies. */
  #placeOf({ name, isLink }: Entry, file: string): { readonly folder: string; readonly name: string } {
    if (!isLink) return { folder: this.path, name };
    const [folder, target] = split(this.#follow(file));
    return { folder, name: target };
  }

  #follow(link: string): string {
    let target: string | null;
    try {
      target = this.#tree.follow(link);
    } catch (thrown) {
      throw unreadable(link, thrown);
    }
    if (target !== null) return target;
    throw new SourceError(REFUSALS['link-outside'].code, link, `${printable(link)} ${REFUSALS['link-outside'].says}`);
  }

  readText(name: string, maxBytes: number = LIMITS.documentBytes): string | null {
    const entry = this.entries.get(name);
    if (entry?.kind !== 'file' || entry.size > maxBytes) return null;
    const source = this.open(name);
    return source.read(0, source.size).toString('utf8');
  }

  #list(): Map<string, Entry> {
    const entries = new Map<string, Entry>();
    if (this.#only !== null) {
      entries.set(this.#only, new LazyEntry(this.#tree, this.path, this.#only, null));
      const manifest = `${this.#only}${BESIDE_SUFFIX}`;
      const isSealed = lstatSync(this.#tree.pathTo(manifest), { throwIfNoEntry: false })?.isFile() === true;
      return isSealed ? entries.set(manifest, new LazyEntry(this.#tree, this.path, manifest, null)) : entries;
    }
    try {
      const listing = opendirSync(this.#tree.folders.at(this.path), { bufferSize: 512 });
      try {
        for (let dirent = listing.readSync(); dirent !== null; dirent = listing.readSync()) {
          if (entries.size >= LIMITS.directoryEntries || !this.#tree.admit(dirent.name)) {
            this.#problem = new SourceError('LIMIT_EXCEEDED', this.path, this.#tooMany());
            break;
          }
          entries.set(dirent.name, new LazyEntry(this.#tree, this.path, dirent.name, dirent));
        }
      } finally {
        listing.closeSync();
      }
    } catch (thrown) {
      this.#problem = unreadable(this.path, thrown);
    }
    return entries;
  }

  #tooMany(): string {
    const { directoryEntries, treeEntries, treeNames } = LIMITS;
    const most = `${directoryEntries} names, or the tree more than ${treeEntries} with ${treeNames} characters`;
    return `${printable(this.path) || 'the folder'} holds more than ${most}`;
  }
}

const REFUSALS = {
  file: null,
  directory: { code: 'FILE_NOT_REGULAR', says: 'is a folder where a file should be' },
  'link-outside': { code: 'FILE_LINK_OUTSIDE', says: 'is a link that leads out of the directory, so it was not followed' },
  'link-broken': { code: 'FILE_LINK_BROKEN', says: 'is a link that leads nowhere' },
  special: { code: 'FILE_NOT_REGULAR', says: 'is not a regular file, so it was not opened' },
  unreadable: { code: 'FILE_NOT_READABLE', says: 'cannot be read' },
} as const satisfies Record<
  Entry['kind'],
  { code: 'FILE_NOT_REGULAR' | 'FILE_LINK_OUTSIDE' | 'FILE_LINK_BROKEN' | 'FILE_NOT_READABLE'; says: string } | null
>;

/** What is kept of what the system says about a file. */
interface Facts {
  readonly size: number;
  readonly mtimeMs: number;
  readonly allocated: number;
  readonly identity: string;
}

/**
 * Knows its kind from the listing; asks the system for size and times only when they are needed.
 */
class LazyEntry implements Entry {
  readonly name: string;
  readonly isLink: boolean;
  readonly kind: Entry['kind'];
  readonly #tree: Tree;
  readonly #folder: string;
  #facts: Facts | null | undefined;

  constructor(tree: Tree, folder: string, name: string, dirent: Dirent | null) {
    this.name = name;
    this.#tree = tree;
    this.#folder = folder;
    const listed = dirent !== null && !isUnknown(dirent) ? dirent : this.#stat();
    this.isLink = listed?.isSymbolicLink() ?? false;
    this.kind = listed === null ? 'unreadable' : this.isLink ? this.#kindBehind() : kindOf(listed);
  }

  get size(): number {
    return this.#own()?.size ?? 0;
  }

  get mtimeMs(): number {
    return this.#own()?.mtimeMs ?? 0;
  }

  get allocated(): number {
    return this.#own()?.allocated ?? 0;
  }

  get identity(): string {
    return this.#own()?.identity ?? '';
  }

  hasChanged(): boolean {
    const before = this.#own();
    const now = this.isLink ? this.#statTarget() : this.#stat();
    return before?.size !== now?.size || before?.mtimeMs !== now?.mtimeMs;
  }

  /** There can be hundreds of thousands, so the whole path is put together when it is needed. */
  get #path(): string {
    return this.#folder === '' ? this.name : `${this.#folder}/${this.name}`;
  }

  #own(): Facts | null {
    if (this.#facts === undefined) this.#facts = this.#look();
    return this.#facts;
  }

  #look(): Facts | null {
    const stats = this.isLink ? this.#statTarget() : this.#stat();
    if (stats === null) return null;
    return { size: stats.size, mtimeMs: stats.mtimeMs, allocated: stats.blocks * 512, identity: fileIdentity(stats) };
  }

  #stat(): Stats | null {
    try {
      return lstatSync(`${this.#tree.folders.at(this.#folder)}/${this.name}`);
    } catch {
      return null;
    }
  }

  /** What the link leads to below the root; null where that is nothing, or lies elsewhere. */
  #statTarget(): Stats | null {
    try {
      const target = this.#tree.follow(this.#path);
      return target === null ? null : lstatSync(this.#tree.pathTo(target));
    } catch {
      return null;
    }
  }

  #kindBehind(): Entry['kind'] {
    try {
      const target = this.#tree.follow(this.#path);
      if (target === null) return 'link-outside';
      return target === '' ? 'directory' : kindOf(lstatSync(this.#tree.pathTo(target)));
    } catch {
      return leadsOutside(this.#tree, this.#path) ? 'link-outside' : 'link-broken';
    }
  }
}

function isUnknown(dirent: Dirent): boolean {
  return !(
    dirent.isFile() ||
    dirent.isDirectory() ||
    dirent.isSymbolicLink() ||
    dirent.isFIFO() ||
    dirent.isSocket() ||
    dirent.isCharacterDevice() ||
    dirent.isBlockDevice()
  );
}

/** A link whose target cannot be resolved: does it at least name a place outside? */
function leadsOutside(tree: Tree, link: string): boolean {
  try {
    return !tree.contains(resolve(tree.real, dirname(link), readlinkSync(tree.pathTo(link))));
  } catch {
    return false;
  }
}

function kindOf(stats: Stats | Dirent): Entry['kind'] {
  if (stats.isFile()) return 'file';
  return stats.isDirectory() ? 'directory' : 'special';
}
