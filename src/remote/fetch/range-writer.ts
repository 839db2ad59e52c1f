import type { FileHandle } from 'node:fs/promises';
import { crc32c, hex32 } from '../../core/checksums.ts';
import { HoldfastError } from '../../core/errors.ts';
import { PART_BYTES } from '../../seal/manifest.ts';
import type { RangeSink } from '../backends/backend.ts';
import type { SinkFile } from '../http/http-client.ts';
import { type RateLimit, UNLIMITED } from '../transfer/rate-limit.ts';

/** Bytes per write. Sealed parts end where a block does. */
const BLOCK_BYTES = 512 * 1024;
/** The smallest range that is worth a thread. */
const LARGE_BYTES = 1024 * 1024;
/** Blocks of one transfer that may be in flight to the file before it must wait. */
const BLOCKS = 4;

/** Reuses memory from one transfer to the next, because allocating it costs more than using it. */
export class BlockPool {
  readonly #free: Buffer[] = [];

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
  }

  give(block: Buffer): void {
    this.#free.push(block);
  }
}

/** What the writers of all ranges share. */
export interface RangeWriterOptions {
  readonly blocks: BlockPool;
  readonly limit: RateLimit;
  readonly signal: AbortSignal;
  readonly onBytes: (bytes: number) => void;
}

/** Writes the received bytes at their place in the file and sums them part by part. */
export class RangeWriter implements RangeSink {
  received = 0;
  sums: string[] = [];
  #sum = 0;
  #held = 0;
  #isUsed = false;
  #block: Buffer;
  /**
   * Blocks in flight to the file. Each keeps its memory until it is written, because connections
   * may deliver late.
   */
  readonly #writing = new Set<Promise<void>>();
  /** Resolves when no block of an earlier try is in flight any more. */
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

  /** A limited rate needs a wait before every piece, which only {@link write} can do. */
  get file(): SinkFile | undefined {
    // Blocks of an earlier try may still be in flight.
    if (this.#options.limit !== UNLIMITED || this.#range.size < LARGE_BYTES || this.#isUsed) return undefined;
    return {
      fd: this.#handle.fd,
      offset: this.#range.offset,
      partBytes: PART_BYTES,
      onBytes: (bytes) => this.#took(bytes),
      onDone: (sums) => void (this.sums = [...sums]),
    };
  }

  /**
   * Starts a new try and discards the earlier one. Nothing is written before the earlier try's
   * blocks are done.
   */
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

  /** Resolves when every received byte is in the file. */
  async flush(): Promise<void> {
    if (this.#held > 0) this.#writeOut();
    await Promise.all(this.#writing);
  }

  /** Resolves when all writes have ended and the memory is free again. */
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
    // A failed write stays in the set, so that every waiter sees it.
    writing.catch(() => {});
    this.#writing.add(writing);
  }
}

async function writeAll(handle: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at, bytes.length - at, position + at)).bytesWritten;
}
