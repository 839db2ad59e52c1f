import { writeSync } from 'node:fs';
import { crc32c, hex32 } from '../../../core/checksums.ts';
import type { DirectSink } from '../raw-get.ts';
import type { FilePlace } from './range-messages.ts';

/** Bytes per write. Sealed parts end where a block does. */
const BLOCK_BYTES = 1024 * 1024;

/** Memory for the next transfer of this thread, because allocating it costs more than using it. */
const free: Buffer[] = [];

/**
 * Writes received bytes to their place in the file and sums them part by part. The receiving
 * processor does all of it, while the bytes are in its cache. Only for a thread that may wait for
 * the disk.
 */
export class FileSink implements DirectSink {
  readonly #place: FilePlace & { readonly size: number };
  readonly #onBytes: (bytes: number) => void;
  readonly #block = free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
  readonly #sums: string[] = [];
  #sum = 0;
  #held = 0;
  #written = 0;
  #failure: Error | null = null;

  constructor(place: FilePlace & { readonly size: number }, onBytes: (bytes: number) => void) {
    this.#place = place;
    this.#onBytes = onBytes;
  }

  room(): Buffer {
    return this.#block.subarray(this.#held);
  }

  filled(count: number): Promise<void> | null {
    // A TLS connection hands over what it has read before it stops.
    if (this.#failure !== null) return Promise.reject(this.#failure);
    this.#held += count;
    if (this.#held < BLOCK_BYTES && this.#written + this.#held < this.#place.size) return null;
    try {
      this.#writeOut();
      return null;
    } catch (thrown) {
      this.#failure = thrown as Error;
      // Later bytes still need room.
      this.#held = 0;
      return Promise.reject(this.#failure);
    }
  }

  /** Ends the last part and returns the checksums of all parts. */
  finish(): readonly string[] {
    if (this.#failure !== null) throw this.#failure;
    return this.#sums;
  }

  /** Gives the memory back; no more bytes may arrive. */
  close(): void {
    free.push(this.#block);
  }

  #writeOut(): void {
    const { fd, offset, size, partBytes } = this.#place;
    const full = this.#block.subarray(0, this.#held);
    this.#sum = crc32c(full, this.#sum);
    for (let at = 0; at < full.length; ) at += writeSync(fd, full, at, full.length - at, offset + this.#written + at);
    this.#written += full.length;
    this.#held = 0;
    if (this.#written % partBytes !== 0 && this.#written !== size) return;
    this.#sums.push(hex32(this.#sum));
    this.#sum = 0;
    // Not after each block, because messages to another thread add up.
    this.#onBytes(this.#written % partBytes || partBytes);
  }
}
