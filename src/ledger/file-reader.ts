import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { systemCode, toError } from '../core/errors.ts';
import type { Recorded } from './events.ts';
import type { LedgerFile } from './layout.ts';
import { decodeLine } from './line.ts';
import { LineSplitter } from './line-splitter.ts';

/** What was read of one file of the ledger so far. */
export interface FileReading extends LedgerFile {
  readonly events: number;
  /** Lines whose checksum does not match: torn by a crash or a full disk, or changed. */
  readonly damaged: number;
  /** Something stands behind its last line: its writer was killed, or writes right now. */
  readonly isTorn: boolean;
  /** Its beginning was left out because it is too long. */
  readonly isCut: boolean;
  /** Why it cannot be read; null when it can. */
  readonly problem: string | null;
}

interface Read {
  readonly events: readonly Recorded[];
  readonly bytes: number;
}

const CHUNK_BYTES = 256 * 1024;

/** Reads one file of the ledger, and later what was appended since. Nothing in the file, and nothing that lies in its place, makes it throw. */
export class FileReader {
  readonly #path: string;
  readonly #file: LedgerFile;
  #splitter = new LineSplitter();
  #position = 0;
  #events = 0;
  #damaged = 0;
  #isCut = false;
  #problem: string | null = null;

  constructor(folder: string, file: LedgerFile) {
    this.#path = join(folder, file.name);
    this.#file = file;
  }

  get reading(): FileReading {
    return {
      ...this.#file,
      events: this.#events,
      damaged: this.#damaged,
      isTorn: this.#splitter.hasRest,
      isCut: this.#isCut,
      problem: this.#problem,
    };
  }

  /** What was appended since the last call, in the order of the file, and at most so many bytes: the newest. */
  readMore(mostBytes: number): Read {
    return this.#read((file, size) => this.#readTo(file, size, mostBytes));
  }

  /** What stands at its beginning, within so many bytes. */
  readFirst(mostBytes: number): Read {
    return this.#read((file, size) => this.#readTo(file, Math.min(size, mostBytes), mostBytes));
  }

  #read(read: (file: number, size: number) => Read): Read {
    let file: number;
    try {
      // Neither a link is followed nor a pipe waited for: the folder may be anybody's.
      file = openSync(this.#path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch (thrown) {
      return this.#fail(thrown);
    }
    try {
      const stat = fstatSync(file);
      if (!stat.isFile()) throw new Error('it is not a regular file');
      this.#problem = null;
      return read(file, stat.size);
    } catch (thrown) {
      return this.#fail(thrown);
    } finally {
      closeSync(file);
    }
  }

  #readTo(file: number, size: number, mostBytes: number): Read {
    // Ledgers only grow; one that does not was tampered with, and is followed from its new end.
    if (size < this.#position) this.#skipTo(size);
    const start = this.#position;
    let isMiddle = false;
    if (size - start > mostBytes) {
      this.#skipTo(size - mostBytes);
      this.#isCut = true;
      isMiddle = true;
    }
    const events: Recorded[] = [];
    const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, Math.max(1, size - this.#position)));
    while (this.#position < size) {
      const count = readSync(file, chunk, 0, Math.min(chunk.length, size - this.#position), this.#position);
      if (count === 0) break;
      this.#position += count;
      for (const line of this.#splitter.push(Buffer.from(chunk.subarray(0, count)))) {
        // The first piece after a jump is the end of some line.
        if (isMiddle) isMiddle = false;
        else this.#take(line, events);
      }
    }
    return { events, bytes: this.#position - start };
  }

  #take(line: Buffer | null, events: Recorded[]): void {
    const recorded = line === null ? null : decodeLine(line);
    // A line that names another attempt than its file was copied here.
    if (recorded === null || recorded.attempt !== this.#file.attempt) this.#damaged++;
    else {
      this.#events++;
      events.push(recorded);
    }
  }

  #skipTo(position: number): void {
    this.#position = position;
    this.#splitter = new LineSplitter();
  }

  #fail(thrown: unknown): Read {
    this.#problem = systemCode(thrown) ?? toError(thrown).message;
    return { events: [], bytes: 0 };
  }
}
