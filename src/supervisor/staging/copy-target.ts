import { closeSync, constants, ftruncateSync, openSync, rmSync, write } from 'node:fs';
import { promisify } from 'node:util';
import { isCode } from '../../checkpoint/store/store-error.ts';
import { ALIGNMENT } from './aligned-memory.ts';

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const OPEN = constants.O_WRONLY | constants.O_NOFOLLOW;
/** Not every system has it. */
const DIRECT = constants.O_DIRECT as number | undefined;

/** How file systems say that nothing goes past the page cache here. */
const REFUSALS = ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP'];

const writeAt = promisify(write);

/**
 * A new file that is written in large blocks, several on their way at a time, straight to the disk: past the page cache a copy takes a third of the
 * processor, none of the memory that a container is allowed, and leaves little for the sync at the end. Where a file system does not have that, it is written as usual.
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

  /** Makes it as long as it will be: a write that makes a file longer keeps all others waiting. */
  stretch(): void {
    if (this.#isDirect) ftruncateSync(this.#file, this.#size);
  }

  /** Writes the beginning of the block; what follows up to the next multiple of the alignment may be written too, and is cut off in the end. */
  async write(block: Buffer, length: number, position: number): Promise<void> {
    for (let at = 0; at < length; ) {
      const count = await this.#writeSome(block, at, length, position);
      if (count === null) this.#goOnAsUsual();
      else if (count === 0) throw new Error(`nothing could be written to ${this.#path}`);
      else at += count;
    }
  }

  /** Every write has ended. */
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
        // It was refused, and made all the same.
        rmSync(this.#path, { force: true });
        this.#isDirect = false;
      }
    }
    this.#opened.push(openSync(this.#path, CREATE, 0o666));
  }

  /** How much was written; null when it does not go past the page cache. */
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

  /** Others may still be writing through what was opened first. */
  #goOnAsUsual(): void {
    if (!this.#isDirect) return;
    this.#isDirect = false;
    this.#opened.push(openSync(this.#path, OPEN));
  }
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
}
