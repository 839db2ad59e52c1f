import type { ByteSource } from '../source/byte-source.ts';
import type { Directory } from '../source/directory.ts';
import type { Place } from './columns.ts';

/** A data file that places were found in. */
export interface UsedFile {
  readonly path: string;
  /** Null when it is not there. */
  readonly source: ByteSource | null;
  /** End of the last byte that anything refers to. */
  end: number;
}

const MAX_PATH_CHARACTERS = 64 * 1024 * 1024;

/** The data files of the databases below one folder, by their paths; each is looked for once. */
export class DataFiles {
  /** True when more paths were named than are kept; those are taken for missing. */
  isTooMany = false;
  #characters = 0;
  readonly #root: Directory;
  readonly #files = new Map<string, UsedFile>();

  constructor(root: Directory) {
    this.#root = root;
  }

  get used(): Iterable<UsedFile> {
    return this.#files.values();
  }

  /** The bytes at a place below `folder`, or null when the file is not there or ends before. */
  find(folder: string, { path, offset, length }: Place): ByteSource | null {
    const file = this.#file(folder + path);
    file.end = Math.max(file.end, offset + length);
    if (file.source === null || !(offset + length <= file.source.size)) return null;
    return file.source.slice(offset, length);
  }

  #file(path: string): UsedFile {
    const known = this.#files.get(path);
    if (known !== undefined) return known;
    this.#characters += path.length + 100;
    this.isTooMany ||= this.#characters > MAX_PATH_CHARACTERS;
    if (this.isTooMany) return { path, source: null, end: 0 };
    const file = { path, source: this.#open(path), end: 0 };
    this.#files.set(path, file);
    return file;
  }

  /** Paths come from the file: every part must be the name of something inside. */
  #open(path: string): ByteSource | null {
    const parts = path.split('/');
    const name = parts.pop() ?? '';
    let folder: Directory | null = this.#root;
    for (const part of parts) folder = folder?.directory(part) ?? null;
    return folder?.entries.get(name)?.kind === 'file' ? folder.open(name) : null;
  }
}
