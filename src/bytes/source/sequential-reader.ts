import type { ByteSource } from './byte-source.ts';

/**
 * Reads a source from front to back in windows, so that a long header costs few reads and skipped
 * payload none.
 */
export class SequentialReader {
  readonly #source: ByteSource;
  readonly #windowBytes: number;
  #window: Buffer = Buffer.alloc(0);
  #windowStart = 0;
  #position = 0;

  constructor(source: ByteSource, windowBytes: number) {
    this.#source = source;
    this.#windowBytes = windowBytes;
  }

  get position(): number {
    return this.#position;
  }

  get remaining(): number {
    return this.#source.size - this.#position;
  }

  /**
   * The next bytes, or null when the source ends before that; the position then stays. Valid until
   * the next call.
   */
  take(length: number): Buffer | null {
    if (!(length <= this.remaining)) return null;
    const start = this.#position - this.#windowStart;
    if (start < 0 || start + length > this.#window.length) {
      this.#window = this.#source.read(this.#position, Math.max(length, this.#windowBytes));
      this.#windowStart = this.#position;
      if (this.#window.length < length) return null;
    }
    const offset = this.#position - this.#windowStart;
    this.#position += length;
    return this.#window.subarray(offset, offset + length);
  }

  /** Moves past bytes without reading them; false when the source ends before that. */
  skip(length: number): boolean {
    if (!(length <= this.remaining)) return false;
    this.#position += length;
    return true;
  }
}
