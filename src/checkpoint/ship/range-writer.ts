import type { FileHandle } from 'node:fs/promises';
import { crc32c, hex32 } from '../../core/checksums.ts';
import { HoldfastError } from '../../core/errors.ts';
import { PART_BYTES } from '../store/manifest.ts';
import type { RangeSink } from './backend.ts';
import type { DirectSink } from './http/raw-get.ts';
import { type RateLimit, UNLIMITED } from './rate-limit.ts';

/** What is written at a time. Parts of a seal end where a block does. */
const BLOCK_BYTES = 512 * 1024;
/** One is filled while the others are on their way to the file. */
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

interface Block {
  readonly buffer: Buffer;
  /** Kept when its bytes are in the file; null when there is nothing to wait for. */
  writing: Promise<void> | null;
}

/** Writes what comes into the file, at its place, and sums it up part by part. */
export class RangeWriter implements RangeSink, DirectSink {
  received = 0;
  sums: string[] = [];
  #sum = 0;
  #held = 0;
  #turn = 0;
  #blocks: readonly Block[];
  /** Kept when nothing of an earlier try is on its way to the file any more. */
  #before: Promise<unknown> = Promise.resolve();
  readonly #handle: FileHandle;
  readonly #range: { readonly offset: number; readonly size: number };
  readonly #options: RangeWriterOptions;

  constructor(handle: FileHandle, range: { readonly offset: number; readonly size: number }, options: RangeWriterOptions) {
    this.#handle = handle;
    this.#range = range;
    this.#options = options;
    const count = Math.min(BLOCKS, Math.ceil(range.size / BLOCK_BYTES));
    this.#blocks = Array.from({ length: count }, () => ({ buffer: options.blocks.take(), writing: null }));
  }

  /** A limited rate is kept by asking before every piece, which only {@link write} can. */
  get direct(): DirectSink | undefined {
    return this.#options.limit === UNLIMITED ? this : undefined;
  }

  /** A new try: what came before is void. What is still being written of it is left alone, and nothing is written before that is done. */
  restart(): void {
    const { blocks, onBytes } = this.#options;
    const busy = this.#blocks.flatMap(({ buffer, writing }) => (writing === null ? [] : [writing.finally(() => blocks.give(buffer))]));
    this.#before = Promise.all([this.#before, ...busy]);
    this.#before.catch(() => {});
    this.#blocks = this.#blocks.map((block) => (block.writing === null ? block : { buffer: blocks.take(), writing: null }));
    onBytes(-this.received);
    this.received = 0;
    this.sums = [];
    this.#sum = 0;
    this.#held = 0;
  }

  room(): Buffer {
    return this.#block.buffer.subarray(this.#held);
  }

  filled(count: number): Promise<void> | null {
    this.#held += count;
    this.received += count;
    this.#options.onBytes(count);
    if (this.#held < BLOCK_BYTES && this.received < this.#range.size) return null;
    this.#writeOut();
    return this.#block.writing;
  }

  async write(bytes: Buffer): Promise<void> {
    if (this.received + bytes.length > this.#range.size)
      throw new HoldfastError('REMOTE_INVALID', { message: 'the store sent more bytes than were asked for' });
    await this.#options.limit.take(bytes.length, this.#options.signal);
    for (let at = 0; at < bytes.length; ) {
      await this.#block.writing;
      const count = bytes.copy(this.room(), 0, at);
      at += count;
      await this.filled(count);
    }
  }

  /** All that came is in the file when this returns. */
  async flush(): Promise<void> {
    if (this.#held > 0) this.#writeOut();
    await Promise.all(this.#writings);
  }

  /** Gives the memory back, once nothing is written from it any more. */
  async close(): Promise<void> {
    await Promise.allSettled([this.#before, ...this.#writings]);
    for (const { buffer } of this.#blocks) this.#options.blocks.give(buffer);
  }

  get #writings(): Promise<void>[] {
    return this.#blocks.flatMap(({ writing }) => (writing === null ? [] : [writing]));
  }

  get #block(): Block {
    return this.#blocks[this.#turn] as Block;
  }

  #writeOut(): void {
    const block = this.#block;
    const full = block.buffer.subarray(0, this.#held);
    const position = this.#range.offset + this.received - this.#held;
    this.#sum = crc32c(full, this.#sum);
    if (this.received % PART_BYTES === 0 || this.received === this.#range.size) {
      this.sums.push(hex32(this.#sum));
      this.#sum = 0;
    }
    this.#held = 0;
    this.#turn = (this.#turn + 1) % this.#blocks.length;
    const writing = this.#before.then(() => writeAll(this.#handle, full, position)).then(() => void (block.writing = null));
    // Seen by whoever waits for it next; it stays, so that everybody does.
    writing.catch(() => {});
    block.writing = writing;
  }
}

async function writeAll(handle: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at, bytes.length - at, position + at)).bytesWritten;
}
