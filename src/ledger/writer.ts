import { closeSync, constants, fstatSync, fsync, fsyncSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openBeneath, throughFolder } from '../core/beneath.ts';
import type { Clock } from '../core/clock.ts';
import { HoldfastError, systemCode, toError } from '../core/errors.ts';
import { privateMode } from '../core/private-mode.ts';
import { printable } from '../core/printable.ts';
import { type EventOf, type LedgerEvent, SYNCED_KINDS } from './events.ts';
import { LEDGER, ledgerFileName, ledgerFolder } from './ledger-files.ts';
import { decodeLine, encodeLine, MAX_LINE_BYTES } from './line.ts';

/** The file operations that a writer needs; the real ones, or a test's that fail. */
export interface LedgerIo {
  write(file: number, bytes: Uint8Array): number;
  sync(file: number, done: (error: Error | null) => void): void;
}

const REAL_IO: LedgerIo = { write: (file, bytes) => writeSync(file, bytes), sync: fsync };

/** How a ledger is written. */
export interface LedgerOptions {
  readonly attempt: number;
  readonly node: string;
  readonly clock: Clock;
  /**
   * Gets an error when events could not be recorded, once for each series of failures. The writer
   * keeps trying, and never throws.
   */
  readonly onFailure: (error: HoldfastError) => void;
  /** The least time between two lines of progress; default 10 s. */
  readonly progressEveryMs?: number;
  readonly io?: LedgerIo;
}

const PROGRESS_EVERY_MS = 10_000;

/**
 * Appends to the ledger file of one attempt on one node.
 *
 * Each event is one write at the end of the file, so that lines of two writers do not mix. Events
 * that must survive a power loss are synced in the background. A disk that is busy with a flush can
 * take seconds to sync, and the flush needs those seconds. {@link settled} waits for the syncs. A
 * failing ledger never ends the trainer: failures go to `onFailure`, and the next event is tried
 * again.
 */
export class LedgerWriter {
  readonly path: string;
  readonly #file: number;
  readonly #options: LedgerOptions;
  readonly #io: LedgerIo;
  #seq: number;
  /** The file may end in the middle of a line, so the next write starts a new one. */
  #isTorn: boolean;
  #held: EventOf<'progress'> | null = null;
  #lastProgressMs = Number.NEGATIVE_INFINITY;
  #isFailing = false;
  #isSyncing = false;
  #needsSync = false;
  #isClosed = false;
  #waiting: (() => void)[] = [];

  constructor(path: string, file: number, end: FileEnd, options: LedgerOptions) {
    this.path = path;
    this.#file = file;
    this.#options = options;
    this.#io = options.io ?? REAL_IO;
    this.#seq = end.lastSeq;
    this.#isTorn = end.isTorn;
  }

  /**
   * Records an event. Progress right after other progress is held back; any other event writes the
   * held progress first.
   */
  append(event: LedgerEvent): void {
    if (this.#isClosed) return;
    if (event.kind === 'progress') {
      this.#held = event;
      const now = this.#options.clock.monotonic();
      if (now - this.#lastProgressMs < (this.#options.progressEveryMs ?? PROGRESS_EVERY_MS)) return;
      this.flush();
      return;
    }
    this.flush();
    this.#write(event);
    if (SYNCED_KINDS.has(event.kind)) this.#sync();
  }

  /** Writes the progress that was held back. */
  flush(): void {
    const held = this.#held;
    if (held === null || this.#isClosed) return;
    this.#held = null;
    this.#lastProgressMs = this.#options.clock.monotonic();
    this.#write(held);
  }

  /** Resolves when every event that must be on disk is there, or its sync has failed. */
  settled(): Promise<void> {
    if (!this.#isSyncing) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Writes and syncs what is left, then closes. May be called twice. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.flush();
    this.#sync();
    this.#isClosed = true;
    await this.settled();
    closeSync(this.#file);
  }

  #write(event: LedgerEvent): void {
    const { attempt, node, clock } = this.#options;
    const line = encodeLine({ attempt, node, seq: this.#seq + 1, atMs: clock.now(), event });
    const bytes = this.#isTorn ? Buffer.concat([NEWLINE, line]) : line;
    try {
      const written = this.#io.write(this.#file, bytes);
      // Gives up the line after a short write on a full disk: the rest would be a second write.
      if (written < bytes.length) {
        this.#isTorn = true;
        throw Object.assign(new Error('only a part of the line was written'), { code: 'ENOSPC' });
      }
      this.#seq++;
      this.#isTorn = false;
      this.#isFailing = false;
    } catch (thrown) {
      this.#fail('written', thrown);
    }
  }

  /**
   * Syncs the events of one turn together, because a line that comes after the start of a sync
   * waits for the next one.
   */
  #sync(): void {
    this.#needsSync = true;
    if (this.#isSyncing) return;
    this.#isSyncing = true;
    setImmediate(() => this.#syncNow());
  }

  #syncNow(): void {
    this.#needsSync = false;
    this.#io.sync(this.#file, (error) => {
      if (error !== null) this.#fail('synced', error);
      else if (this.#needsSync) return this.#syncNow();
      this.#isSyncing = false;
      for (const resolve of this.#waiting.splice(0)) resolve();
    });
  }

  #fail(what: string, thrown: unknown): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#options.onFailure(ledgerError(what, this.path, thrown));
  }
}

const NEWLINE = Buffer.from('\n');

/**
 * Opens the ledger file of an attempt on a node for appending, and ends a torn last line. The run's
 * `.holdfast` must exist.
 */
export function openLedger(run: string, options: LedgerOptions): LedgerWriter {
  const name = ledgerFileName(options.attempt, options.node);
  const path = join(ledgerFolder(run), name);
  try {
    makeFolder(run);
    const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
    const flags = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
    const file = throughFolder(run, `${LEDGER}/${name}`, (real) => openSync(real, flags, privateMode(run)));
    try {
      if (!fstatSync(file).isFile()) throw Object.assign(new Error('not a regular file'), { code: 'EINVAL' });
      const end = readEnd(file);
      if (end.size === 0) syncFolder(run, LEDGER);
      return new LedgerWriter(path, file, end, options);
    } catch (thrown) {
      closeSync(file);
      throw thrown;
    }
  } catch (thrown) {
    throw ledgerError('opened', path, thrown);
  }
}

function makeFolder(run: string): void {
  try {
    // Does not make its parents: the store makes `.holdfast` in one step, with everything in it.
    throughFolder(run, LEDGER, (real) => mkdirSync(real));
  } catch (thrown) {
    if (systemCode(thrown) !== 'EEXIST') throw thrown;
    return;
  }
  syncFolder(run, dirname(LEDGER));
}

function syncFolder(run: string, folder: string): void {
  const file = openBeneath(run, folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

interface FileEnd {
  readonly size: number;
  readonly lastSeq: number;
  readonly isTorn: boolean;
}

/**
 * The end of a file: the number of its newest intact line, and whether there are bytes after the
 * last newline.
 */
function readEnd(file: number): FileEnd {
  const { size } = fstatSync(file);
  const tail = Buffer.alloc(Math.min(size, 4 * MAX_LINE_BYTES));
  let filled = 0;
  while (filled < tail.length) {
    const count = readSync(file, tail, filled, tail.length - filled, size - tail.length + filled);
    if (count === 0) break;
    filled += count;
  }
  const isTorn = tail.length > 0 && tail.at(-1) !== 10;
  // The bytes after the last newline may be a whole line that lacks only its newline.
  for (let end = isTorn ? tail.length : tail.length - 1; end > 0; ) {
    const start = tail.lastIndexOf(10, end - 1) + 1;
    const line = decodeLine(tail.subarray(start, end));
    if (line !== null) return { size, lastSeq: line.seq, isTorn };
    end = start - 1;
  }
  return { size, lastSeq: 0, isTorn };
}

function ledgerError(what: string, path: string, thrown: unknown): HoldfastError {
  const code = systemCode(thrown);
  const reason = code === 'ENOENT' ? 'the run has no .holdfast folder' : (code ?? toError(thrown).message);
  return new HoldfastError('LEDGER_FAILED', {
    message: `the ledger ${printable(path)} cannot be ${what}: ${reason}`,
    hint: 'Training continues, but events are not recorded. Check the free space and the permissions of the run’s folder.',
    cause: thrown,
  });
}
