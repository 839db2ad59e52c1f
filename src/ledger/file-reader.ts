import { closeSync, constants, fstatSync, readSync } from 'node:fs';
import { openBeneath } from '../core/beneath.ts';
import { systemCode, toError } from '../core/errors.ts';
import type { Recorded } from './events.ts';
import { LEDGER, type LedgerFile } from './ledger-files.ts';
import { decodeLine } from './line.ts';
import { LineSplitter } from './line-splitter.ts';

/** The state of one file of the ledger, as far as it was read. */
export interface FileReading extends LedgerFile {
  readonly events: number;
  /** Lines whose checksum does not match: torn by a crash or a full disk, or changed. */
  readonly damaged: number;
  /** There are bytes after its last newline: its writer was killed, or is writing right now. */
  readonly isTorn: boolean;
  /** Its beginning was skipped because the file is too long. */
  readonly isCut: boolean;
  /** Why it cannot be read; null when it can. */
  readonly problem: string | null;
}

interface Read {
  readonly events: readonly Recorded[];
  readonly bytes: number;
}

const CHUNK_BYTES = 256 * 1024;
/** How many stretches before the newest one are searched when that holds only damaged lines. */
const MOST_STEPS_BACK = 8;

/**
 * Reads one file of the ledger, and later what was appended since. It never throws, whatever the
 * file holds, and whatever is in its place.
 */
export class FileReader {
  readonly #run: string;
  readonly #file: LedgerFile;
  #splitter = new LineSplitter();
  #position = 0;
  #events = 0;
  #damaged = 0;
  #isCut = false;
  #problem: string | null = null;

  constructor(run: string, file: LedgerFile) {
    this.#run = run;
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

  /**
   * Reads what was appended since the last call, in the order of the file. If that is more than
   * `mostBytes`, it reads the newest part.
   */
  readMore(mostBytes: number): Read {
    return this.#read((file, size) => this.#readTo(file, size, mostBytes));
  }

  /** Reads the start of the file, at most this many bytes. */
  readFirst(mostBytes: number): Read {
    return this.#read((file, size) => this.#readTo(file, Math.min(size, mostBytes), mostBytes));
  }

  #read(read: (file: number, size: number) => Read): Read {
    let file: number;
    try {
      // Follows no link and waits for no pipe, because the folder may belong to a stranger.
      file = openBeneath(this.#run, `${LEDGER}/${this.#file.name}`, constants.O_RDONLY | constants.O_NONBLOCK);
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
    // Ledgers only grow. A shorter file was tampered with, and is followed from its new end.
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
    const hasLostAll = events.length === 0 && size - start > mostBytes;
    const found = hasLostAll ? this.#readBefore(file, { start, end: size - mostBytes, mostBytes }) : events;
    return { events: found, bytes: this.#position - start };
  }

  /**
   * Finds the newest events before the stretch that was read, so that one endless line does not
   * hide all events before it.
   */
  #readBefore(
    file: number,
    { start, end, mostBytes }: { readonly start: number; readonly end: number; readonly mostBytes: number },
  ): Recorded[] {
    for (let steps = 0; steps < MOST_STEPS_BACK && end > start; steps++) {
      const from = Math.max(start, end - mostBytes);
      const events = this.#eventsIn(file, from, end, from > start);
      if (events.length > 0) return events;
      end = from;
    }
    return [];
  }

  /**
   * The events of the whole lines in a stretch. Damaged lines are not counted, because lines at its
   * borders are cut.
   */
  #eventsIn(file: number, from: number, end: number, isMiddle: boolean): Recorded[] {
    const [splitter, events] = [new LineSplitter(), [] as Recorded[]];
    let isFirst = isMiddle;
    for (let at = from; at < end; ) {
      const chunk = Buffer.alloc(Math.min(CHUNK_BYTES, end - at));
      const count = readSync(file, chunk, 0, chunk.length, at);
      if (count === 0) break;
      at += count;
      for (const line of splitter.push(chunk.subarray(0, count))) {
        const recorded = isFirst || line === null ? null : decodeLine(line);
        isFirst = false;
        if (recorded?.attempt === this.#file.attempt) events.push(recorded);
      }
    }
    this.#events += events.length;
    return events;
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
