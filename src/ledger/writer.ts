import { closeSync, constants, fstatSync, fsync, fsyncSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock } from '../core/clock.ts';
import { HoldfastError, systemCode, toError } from '../core/errors.ts';
import { printable } from '../core/printable.ts';
import { type EventOf, type LedgerEvent, SYNCED_KINDS } from './events.ts';
import { ledgerFileName, ledgerFolder } from './layout.ts';
import { decodeLine, encodeLine, MAX_LINE_BYTES } from './line.ts';

/** The file operations that a writer needs; the real ones, or a test's that fail. */
export interface LedgerIo {
  write(file: number, bytes: Uint8Array): number;
  sync(file: number, done: (error: Error | null) => void): void;
}

const REAL_IO: LedgerIo = { write: (file, bytes) => writeSync(file, bytes), sync: fsync };

export interface LedgerOptions {
  readonly attempt: number;
  readonly node: string;
  readonly clock: Clock;
  /** Told when something could not be recorded: once for each failure in a row. Recording goes on trying, and never throws. */
  readonly onFailure: (error: HoldfastError) => void;
  /** Least time between two lines of progress; default 10 s. */
  readonly progressEveryMs?: number;
  readonly io?: LedgerIo;
}

const PROGRESS_EVERY_MS = 10_000;

/**
 * Appends to the ledger file of one attempt on one node.
 *
 * Each event is one write at the end of the file, so that lines of two writers do not mix. What must survive a power cut is synced behind the
 * caller's back: a disk that is busy with a flush can take seconds to sync, and the flush has no seconds to give. {@link settled} waits for it.
 * A trainer is never ended because its ledger cannot be written: failures are told to `onFailure` and the next event is tried again.
 */
export class LedgerWriter {
  readonly path: string;
  readonly #file: number;
  readonly #options: LedgerOptions;
  readonly #io: LedgerIo;
  #seq: number;
  /** The file may end in the middle of a line: the next write starts a new one. */
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

  /** Records an event. Progress is held back while there was some a moment ago; anything else brings it out first. */
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

  /** Resolves when everything that has to be is on the disk, or has failed to get there. */
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
      // The rest of a short write would not be one write any more: a full disk, and the line is given up.
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

  /** What is recorded in one turn is synced together: behind a sync that has begun, the next line may have to wait for the disk. */
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

/** Opens the ledger file of an attempt on a node to append to it. The run's `.holdfast` must be there. A torn last line is ended first. */
export function openLedger(run: string, options: LedgerOptions): LedgerWriter {
  const folder = ledgerFolder(run);
  const path = join(folder, ledgerFileName(options.attempt, options.node));
  try {
    makeFolder(folder);
    const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
    const file = openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o644);
    try {
      if (!fstatSync(file).isFile()) throw Object.assign(new Error('not a regular file'), { code: 'EINVAL' });
      const end = readEnd(file);
      if (end.size === 0) syncFolder(folder);
      return new LedgerWriter(path, file, end, options);
    } catch (thrown) {
      closeSync(file);
      throw thrown;
    }
  } catch (thrown) {
    throw ledgerError('opened', path, thrown);
  }
}

function makeFolder(folder: string): void {
  try {
    // Not its parents: the store makes `.holdfast` in one step, with everything in it.
    mkdirSync(folder);
  } catch (thrown) {
    if (systemCode(thrown) !== 'EEXIST') throw thrown;
    return;
  }
  syncFolder(dirname(folder));
}

function syncFolder(folder: string): void {
  const file = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
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

/** Where a file ends: the number of its last intact line among the newest, and whether something stands behind the last newline. */
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
  // What stands behind the last newline may be a whole line that lacks only its own.
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
    hint: 'Training goes on, but what happens is not recorded. Look at the free space and the permissions of the run’s folder.',
    cause: thrown,
  });
}
