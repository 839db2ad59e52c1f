import { closeSync, constants, ftruncateSync, openSync, rmSync, write } from 'node:fs';
import { promisify } from 'node:util';
import { isCode } from '../../../store/disk/store-error.ts';
import { ALIGNMENT } from './aligned-memory.ts';

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const OPEN = constants.O_WRONLY | constants.O_NOFOLLOW;
/** Not every system has direct writes. */
const DIRECT = constants.O_DIRECT as number | undefined;

/** The error codes with which file systems refuse direct writes. */
const REFUSALS = ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP'];

const writeAt = promisify(write);

/**
 * A new file that is written in large blocks, several at a time, past the page cache. A direct copy
 * takes a third of the processor time, uses no page cache of the container, and leaves little for
 * the last sync. If the file system refuses direct writes, the file is written as usual.
 */
export class CopyTarget {
  readonly #path: string;
  readonly #size: number;
  readonly #opened: number[] = [];
  #isDirect: boolean;

  constructor(path: string, size: number, { isDirect }: { readonly isDirect: boolean }) {
    this.#path = path;
    this.#size = size;
    this.#isDirect = isDirect && DIRECT !== undefined;
    this.#create();
  }

  /** Gives the file its final length first: a write that extends a file blocks all others. */
  stretch(): void {
    if (this.#isDirect) ftruncateSync(this.#file, this.#size);
  }

  /**
   * Writes the first `length` bytes of the block. It may write on up to the next multiple of the
   * alignment; {@link close} cuts that off.
   */
  async write(block: Buffer, length: number, position: number): Promise<void> {
    for (let at = 0; at < length; ) {
      const count = await this.#writeSome(block, at, length, position);
      if (count === null) this.#goOnAsUsual();
      else if (count === 0) throw new Error(`nothing could be written to ${this.#path}`);
      else at += count;
    }
  }

  /** Closes the file. Call this when every write has ended. */
  close(): void {
    try {
      ftruncateSync(this.#file, this.#size);
    } finally {
      for (const file of this.#opened) closeSync(file);
    }
  }

  get #file(): number {
    return this.#opened.at(-1) as number;
  }

  #create(): void {
    if (this.#isDirect) {
      try {
        this.#opened.push(openSync(this.#path, CREATE | (DIRECT ?? 0), 0o666));
        return;
      } catch (thrown) {
        if (!isCode(thrown, ...REFUSALS)) throw thrown;
        // The file system refused to open the file but created it.
        rmSync(this.#path, { force: true });
        this.#isDirect = false;
      }
    }
    this.#opened.push(openSync(this.#path, CREATE, 0o666));
  }

  /** The number of bytes written; null when the file system refuses direct writes. */
  async #writeSome(block: Buffer, at: number, length: number, position: number): Promise<number | null> {
    const isDirect = this.#isDirect;
    const end = isDirect ? aligned(length) : length;
    try {
      const { bytesWritten } = await writeAt(this.#file, block, at, end - at, position + at);
      if (!isDirect || at + bytesWritten === end) return bytesWritten;
      return bytesWritten < ALIGNMENT ? null : bytesWritten - (bytesWritten % ALIGNMENT);
    } catch (thrown) {
      if (isDirect && isCode(thrown, ...REFUSALS)) return null;
      throw thrown;
    }
  }

  /** Earlier file descriptors stay open, because other writes may still use them. */
  #goOnAsUsual(): void {
    if (!this.#isDirect) return;
    this.#isDirect = false;
    this.#opened.push(openSync(this.#path, OPEN));
  }
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}
