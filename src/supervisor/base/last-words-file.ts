import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { open, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import { bounded } from '../../core/bounded.ts';
import { privateMode } from '../../core/private-mode.ts';

/**
 * How the file is opened: a FIFO without a reader fails at once, and a terminal does not become
 * ours.
 */
const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NONBLOCK | constants.O_NOCTTY;
/**
 * File systems where an open may wait for a machine that is gone: NFS, SMB and its two successors,
 * FUSE, Ceph, Lustre, 9p, AFS, GFS2, OCFS2.
 */
const REMOTE = new Set([
  0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x65735546, 0xc36400, 0x0bd00bd0, 0x01021997, 0x5346414f, 0x01161970, 0x7461636f,
]);

/**
 * The file of the termination message. Writing it never blocks the supervisor, whatever path the
 * user has named.
 */
export class LastWordsFile {
  readonly path: string;
  readonly #onFailure: (thrown: unknown) => void;
  readonly #found: Promise<void>;
  #isLocal = false;
  #next: string | null = null;
  #writing: Promise<void> | null = null;

  /** `onFailure` gets the error when a message could not be written. */
  constructor(path: string, onFailure: (thrown: unknown) => void) {
    this.path = path;
    this.#onFailure = onFailure;
    this.#found = this.#look();
  }

  /**
   * Writes the message in place of the one before. On a local file system the write is done when
   * this returns, so that a kill right afterwards loses nothing. Elsewhere a thread of the runtime
   * writes, and only the newest of several waiting messages.
   */
  write(text: string): void {
    if (this.#isLocal) return this.#attempt(() => writeNow(this.path, text));
    this.#next = text;
    this.#writing ??= this.#writeAll();
  }

  /**
   * Resolves when everything is written; false when the file does not answer in time, so that a
   * thread of the runtime waits for it.
   */
  async close(patienceMs: number, clock: Clock): Promise<boolean> {
    const done = Promise.all([this.#found, this.#writing]).then(() => true);
    return (await bounded(done, patienceMs, clock)) ?? false;
  }

  async #look(): Promise<void> {
    try {
      const { type } = await statfs(dirname(this.path));
      this.#isLocal = !REMOTE.has(type);
    } catch {
      // The write itself will report the error.
    }
  }

  async #writeAll(): Promise<void> {
    await this.#found;
    for (let text = this.#take(); text !== null; text = this.#take()) {
      try {
        // Skips the check for a group that shares the folder, because it would wait for the same
        // file system.
        const file = await open(this.path, FLAGS, 0o600);
        try {
          await file.writeFile(text);
        } finally {
          await file.close();
        }
      } catch (thrown) {
        this.#onFailure(thrown);
      }
    }
    this.#writing = null;
  }

  #take(): string | null {
    const text = this.#next;
    this.#next = null;
    return text;
  }

  #attempt(write: () => void): void {
    try {
      write();
    } catch (thrown) {
      this.#onFailure(thrown);
    }
  }
}

function writeNow(path: string, text: string): void {
  const file = openSync(path, FLAGS, privateMode(dirname(path)));
  try {
    writeSync(file, text);
  } finally {
    closeSync(file);
  }
}
