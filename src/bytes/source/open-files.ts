import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import type { HeldFolders } from './held-folders.ts';
import { systemCode } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import { type ByteSource, clamp } from './byte-source.ts';
import { SourceError } from './source-error.ts';
import { fileIdentity } from './writers.ts';

/**
 * Where a regular file lies: the folder below the root, and the name in it. None of both is a link.
 */
export interface FilePlace {
  readonly folder: string;
  readonly name: string;
  /** The path that evidence names: another one where a link leads to the file. */
  readonly file: string;
}

/** Never follow a link that appeared after listing, never hang on a pipe. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * What may be read of one file, under whatever names, for one checkpoint and in all: several times
 * its size, and of small ones some megabytes. Readers need a part of a file once; only structures
 * that refer to themselves, or thousands of names for one file, come near it.
 */
const READS = { each: { times: 8, bytes: 64 * 1024 * 1024 }, all: { times: 64, bytes: 512 * 1024 * 1024 } } as const;
/**
 * What small files may unfold to, together: a few kilobytes give megabytes that take a second to
 * look through.
 */
const UNPACKED_BYTES = 512 * 1024 * 1024;
/** What a read costs besides its bytes. */
const READ_COST = 64;

/** What was read of one file. */
interface Account {
  readonly size: number;
  /** For the checkpoint at hand. */
  each: number;
  all: number;
}

interface Opened {
  readonly handle: number;
  readonly account: Account;
}

/**
 * The files that are open at the moment: few, the least recently used is closed first, and reopened
 * when it is read again.
 */
export class OpenFiles {
  #handles = new Map<string, Opened>();
  readonly #accounts = new Map<string, Account>();
  readonly #folders: HeldFolders;
  bytesRead = 0;
  #unpacked = 0;

  constructor(folders: HeldFolders) {
    this.#folders = folders;
  }

  /** A source over a regular file of `size` bytes; opened when it is first read. */
  source(place: FilePlace, size: number): ByteSource {
    return this.#view(place, 0, size);
  }

  /** Closes what is open; the next checkpoint begins. */
  close(): void {
    for (const { handle } of this.#handles.values()) closeSync(handle);
    this.#handles.clear();
    for (const account of this.#accounts.values()) account.each = 0;
  }

  #view(of: FilePlace, base: number, size: number): ByteSource {
    return {
      file: of.file,
      base,
      size,
      read: (offset, length, into) => {
        const from = clamp(offset, size);
        return this.#read(of, base + from, clamp(length, size - from), into);
      },
      slice: (offset, length) => {
        const from = clamp(offset, size);
        return this.#view(of, base + from, clamp(length, size - from));
      },
      unpacks: (bytes) => {
        this.#unpacked += bytes;
        if (this.#unpacked <= UNPACKED_BYTES) return;
        const message = `${printable(of.file)} was not unpacked: at most ${UNPACKED_BYTES} bytes are in one run`;
        throw new SourceError('LIMIT_EXCEEDED', of.file, message);
      },
    };
  }

  #read(of: FilePlace, position: number, length: number, into?: Buffer): Buffer {
    if (length > LIMITS.readBytes) {
      throw new SourceError('LIMIT_EXCEEDED', of.file, `${length} bytes would be read at once, at most ${LIMITS.readBytes} are`);
    }
    const { handle, account } = this.#open(of);
    charge(account, length, of.file);
    const bytes = into === undefined || into.length < length ? Buffer.allocUnsafe(length) : into;
    let filled = 0;
    try {
      while (filled < length) {
        const count = readSync(handle, bytes, filled, length - filled, position + filled);
        if (count === 0) break;
        filled += count;
      }
    } catch (thrown) {
      throw unreadable(of.file, thrown);
    }
    this.bytesRead += filled;
    return filled === bytes.length ? bytes : bytes.subarray(0, filled);
  }

  #open(of: FilePlace): Opened {
    const key = join(of.folder, of.name);
    const known = this.#handles.get(key);
    if (known !== undefined) {
      this.#handles.delete(key);
      this.#handles.set(key, known);
      return known;
    }
    const { handle, stats } = openRegular(this.#folders, of);
    const opened = { handle, account: this.#account(stats) };
    this.#handles.set(key, opened);
    if (this.#handles.size > LIMITS.openFiles) this.#closeOldest();
    return opened;
  }

  #account(stats: Stats): Account {
    const identity = fileIdentity(stats);
    const account = this.#accounts.get(identity) ?? { size: stats.size, each: 0, all: 0 };
    if (this.#accounts.size < LIMITS.directoryEntries) this.#accounts.set(identity, account);
    return account;
  }

  #closeOldest(): void {
    for (const [key, { handle }] of this.#handles) {
      closeSync(handle);
      this.#handles.delete(key);
      return;
    }
  }
}

function charge(account: Account, length: number, file: string): void {
  const cost = length + READ_COST;
  account.each += cost;
  account.all += cost;
  const isWithin = account.each <= most(READS.each, account.size) && account.all <= most(READS.all, account.size);
  if (isWithin) return;
  throw new SourceError(
    'LIMIT_EXCEEDED',
    file,
    `${printable(file)} would be read again and again: ${account.all} bytes of ${account.size} so far`,
  );
}

function most({ times, bytes }: { readonly times: number; readonly bytes: number }, size: number): number {
  return Math.max(bytes, times * size);
}

function openRegular(folders: HeldFolders, { folder, name, file }: FilePlace): { readonly handle: number; readonly stats: Stats } {
  let handle: number;
  try {
    handle = openSync(`${folders.at(folder)}/${name}`, OPEN_FLAGS);
  } catch (thrown) {
    throw unreadable(file, thrown);
  }
  const stats = fstatSync(handle);
  if (stats.isFile()) return { handle, stats };
  closeSync(handle);
  throw new SourceError('FILE_NOT_REGULAR', file, `${printable(file)} is not a regular file, so it was not read`);
}

/** The error for a file that the system refused to read. */
export function unreadable(file: string, thrown: unknown): SourceError {
  const code = systemCode(thrown) ?? 'unknown error';
  return new SourceError('FILE_NOT_READABLE', file, `${printable(file) || 'the path'} cannot be read: ${code}`);
}
