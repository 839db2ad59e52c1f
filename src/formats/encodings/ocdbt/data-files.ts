import type { ByteSource } from '../../../bytes/source/byte-source.ts';
import type { Directory } from '../../../bytes/source/directory.ts';
import type { Place } from './record-columns.ts';

/** A data file that a place refers to. */
export interface UsedFile {
  readonly path: string;
  /** Null when the file is missing. */
  readonly source: ByteSource | null;
  /** End of the last byte that any place refers to. */
  end: number;
}

const MAX_PATH_CHARACTERS = 64 * 1024 * 1024;

/** The data files of the databases below one folder, by their paths. Each is looked up once. */
export class DataFiles {
  /** True when the database names more paths than are kept; the others count as missing. */
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

  /**
   * Returns the bytes at a place below `folder`, or null when the file is missing or ends before
   * them.
   */
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

  /** Paths come from the file, so every part must be the name of an entry inside the folder. */
  #open(path: string): ByteSource | null {
    const parts = path.split('/');
    const name = parts.pop() ?? '';
    let folder: Directory | null = this.#root;
    for (const part of parts) folder = folder?.directory(part) ?? null;
    return folder?.entries.get(name)?.kind === 'file' ? folder.open(name) : null;
  }
}
