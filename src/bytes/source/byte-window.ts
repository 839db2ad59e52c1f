import type { ByteSource } from './byte-source.ts';

const SPAN = 2048;

/**
 * The bytes around the last place that was looked at, for readers of many small things that lie
 * close together.
 */
export class ByteWindow {
  /** Where {@link find} pointed into; another find may replace it. */
  bytes: Buffer = NOTHING;
  readonly #source: ByteSource;
  #start = 0;

  constructor(source: ByteSource) {
    this.#source = source;
  }

  /**
   * The index in `bytes` of the byte at `offset`, with `length` bytes behind it; -1 when the source
   * ends before.
   */
  find(offset: number, length: number): number {
    const index = offset - this.#start;
    if (index >= 0 && index + length <= this.bytes.length) return index;
    this.bytes = this.#source.read(offset, Math.max(length, SPAN));
    this.#start = offset;
    return length <= this.bytes.length ? 0 : -1;
  }
}

const NOTHING = Buffer.alloc(0);

/**
 * Little-endian integers at a place that is known to lie inside; Buffer's own readers check that
 * again for each.
 */
export function u16At(bytes: Uint8Array, at: number): number {
  return (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
}

/** An unsigned little-endian number of four bytes. */
export function u32At(bytes: Uint8Array, at: number): number {
  return (u16At(bytes, at) | (u16At(bytes, at + 2) << 16)) >>> 0;
}
