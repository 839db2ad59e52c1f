import type { FileHandle } from 'node:fs/promises';
import { crc32c, hex32 } from '../../core/checksums.ts';
import { HoldfastError } from '../../core/errors.ts';
import { PART_BYTES } from '../store/manifest.ts';
import type { RangeSink } from './backend.ts';
import type { SinkFile } from './http/client.ts';
import { type RateLimit, UNLIMITED } from './rate-limit.ts';

/** What is written at a time. Parts of a seal end where a block does. */
const BLOCK_BYTES = 512 * 1024;
/** What is smaller is not worth a thread. */
const LARGE_BYTES = 1024 * 1024;
/** So many of a transfer are on their way to the file before it is made to wait. */
const BLOCKS = 4;

/** Memory that goes from one transfer to the next: new memory costs more than what is done with it. */
export class BlockPool {
  readonly #free: Buffer[] = [];

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
  }

  give(block: Buffer): void {
    this.#free.push(block);
  }
}

export interface RangeWriterOptions {
  readonly blocks: BlockPool;
  readonly limit: RateLimit;
  readonly signal: AbortSignal;
  readonly onBytes: (bytes: number) => void;
}

/** Writes what comes into the file, at its place, and sums it up part by part. */
export class RangeWriter implements RangeSink {
  received = 0;
  sums: string[] = [];
  #sum = 0;
  #held = 0;
  #isUsed = false;
  #block: Buffer;
  /** Blocks on their way to the file. Their memory is nobody's before they are there: connections do not always stop at once when told to. */
  readonly #writing = new Set<Promise<void>>();
  /** Kept when nothing of an earlier try is on its way to the file any more. */
  #before: Promise<unknown> = Promise.resolve();
  readonly #handle: FileHandle;
  readonly #range: { readonly offset: number; readonly size: number };
  readonly #options: RangeWriterOptions;

  constructor(handle: FileHandle, range: { readonly offset: number; readonly size: number }, options: RangeWriterOptions) {
    this.#handle = handle;
    this.#range = range;
    this.#options = options;
    this.#block = options.blocks.take();
  }

  /** A limited rate is kept by asking before every piece, which only {@link write} can. */
  get file(): SinkFile | undefined {
    // What an earlier try has written here may still be on its way.
    if (this.#options.limit !== UNLIMITED || this.#range.size < LARGE_BYTES || this.#isUsed) return undefined;
    return {
      fd: this.#handle.fd,
      offset: this.#range.offset,
      partBytes: PART_BYTES,
      onBytes: (bytes) => this.#took(bytes),
      onDone: (sums) => void (this.sums = [...sums]),
    };
  }

  /** A new try: what came before is void. What is still being written of it is left alone, and nothing is written before that is done. */
  restart(): void {
    this.#before = Promise.all([this.#before, ...this.#writing]);
    this.#before.catch(() => {});
    this.#options.onBytes(-this.received);
    this.received = 0;
    this.sums = [];
    this.#sum = 0;
    this.#held = 0;
  }

  async write(bytes: Buffer): Promise<void> {
    if (this.received + bytes.length > this.#range.size)
      throw new HoldfastError('REMOTE_INVALID', { message: 'the store sent more bytes than were asked for' });
    this.#isUsed = true;
    await this.#options.limit.take(bytes.length, this.#options.signal);
    for (let at = 0; at < bytes.length; ) {
      const count = bytes.copy(this.#block.subarray(this.#held), 0, at);
      at += count;
      this.#held += count;
      this.#took(count);
      if (this.#held === BLOCK_BYTES || this.received === this.#range.size) this.#writeOut();
      if (this.#writing.size >= BLOCKS) await Promise.race(this.#writing);
    }
  }

  /** All that came is in the file when this returns. */
  async flush(): Promise<void> {
    if (this.#held > 0) this.#writeOut();
    await Promise.all(this.#writing);
  }

  /** Nothing is written any more when this returns; the memory is given back. */
  async close(): Promise<void> {
    await Promise.allSettled([this.#before, ...this.#writing]);
    this.#options.blocks.give(this.#block);
  }

  #took(bytes: number): void {
    this.received += bytes;
    this.#options.onBytes(bytes);
  }

  #writeOut(): void {
    const { blocks } = this.#options;
    const block = this.#block;
    const full = block.subarray(0, this.#held);
    const position = this.#range.offset + this.received - this.#held;
    this.#sum = crc32c(full, this.#sum);
    if (this.received % PART_BYTES === 0 || this.received === this.#range.size) {
      this.sums.push(hex32(this.#sum));
      this.#sum = 0;
    }
    this.#held = 0;
    this.#block = blocks.take();
    const written = async (): Promise<void> => {
      await this.#before;
      await writeAll(this.#handle, full, position);
      this.#writing.delete(writing);
      blocks.give(block);
    };
    const writing = written();
    // One that failed stays, so that everybody who waits sees it.
    writing.catch(() => {});
    this.#writing.add(writing);
  }
}

async function writeAll(handle: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at, bytes.length - at, position + at)).bytesWritten;
}
