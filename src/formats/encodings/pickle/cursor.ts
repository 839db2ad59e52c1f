import { LIMITS } from '../../../core/hostile-limits.ts';
import { type ByteSource, u64le } from '../../../bytes/source/byte-source.ts';
import { TextCache } from '../../../bytes/source/text-cache.ts';
import { PICKLE_LIMITS, PickleFailure } from './pickle-failure.ts';
import { textOfUtf8 } from './scalars.ts';

const FIRST_WINDOW = 1024;
const LARGEST_WINDOW = 64 * 1024;
const NEWLINE = 0x0a;

/** Strings seen before, because pickles of one kind use the same words. */
const texts = new TextCache();

/**
 * Reads forward through a source in windows. The windows grow with the bytes read, so a small
 * pickle in front of large data costs a small read. The cursor never reads the payloads that it
 * skips.
 */
export class PickleCursor {
  position: number;
  readonly #source: ByteSource;
  #window: Buffer = Buffer.alloc(0);
  #windowStart = 0;
  #nextWindow = FIRST_WINDOW;
  #lent: Buffer | undefined;
  /** Where the walk has to end; skipped bytes move it further. */
  #limit: number;
  readonly #mostBytes: number;

  constructor(source: ByteSource, start: number, mostBytes: number = LIMITS.pickleBytes) {
    this.#source = source;
    this.position = start;
    this.#mostBytes = mostBytes;
    this.#limit = start + mostBytes;
  }

  /**
   * Returns the index in the window of the next byte, with at least `length` bytes from there on.
   */
  #ensure(length: number): number {
    const index = this.position - this.#windowStart;
    if (index + length <= this.#window.length && index >= 0) return index;
    this.#fill(length);
    return 0;
  }

  #fill(length: number): void {
    if (length > this.#source.size - this.position) throw this.#truncated(length);
    if (this.position + length > this.#limit) {
      throw new PickleFailure('LIMIT_EXCEEDED', this.position, `is longer than the ${this.#mostBytes} bytes that are walked`);
    }
    // Read a short pickle once, and a long one through the same memory again and again.
    if (this.#nextWindow === LARGEST_WINDOW) this.#lent ??= Buffer.allocUnsafe(LARGEST_WINDOW);
    this.#window = this.#source.read(this.position, Math.max(length, this.#nextWindow), this.#lent);
    this.#windowStart = this.position;
    this.#nextWindow = Math.min(LARGEST_WINDOW, this.#nextWindow * 2);
    if (this.#window.length < length) throw this.#truncated(length);
  }

  #truncated(length: number): PickleFailure {
    const left = Math.max(0, this.#source.size - this.position);
    return new PickleFailure('PICKLE_TRUNCATED', this.position, `needs ${length} more bytes where ${left} are left`);
  }

  u8(): number {
    const index = this.#ensure(1);
    this.position++;
    return this.#window[index] as number;
  }

  u16(): number {
    const index = this.#ensure(2);
    const value = this.#window.readUInt16LE(index);
    this.position += 2;
    return value;
  }

  u32(): number {
    const index = this.#ensure(4);
    const value = this.#window.readUInt32LE(index);
    this.position += 4;
    return value;
  }

  i32(): number {
    const index = this.#ensure(4);
    const value = this.#window.readInt32LE(index);
    this.position += 4;
    return value;
  }

  /** Infinity when a number cannot hold it. */
  u64(): number {
    const index = this.#ensure(8);
    const value = u64le(this.#window, index);
    this.position += 8;
    return value;
  }

  f64(): number {
    const index = this.#ensure(8);
    const value = this.#window.readDoubleBE(index);
    this.position += 8;
    return value;
  }

  /** Reads the next bytes as text; returns null when they are not UTF-8. `length` must be small. */
  text(length: number): string | null {
    const index = this.#ensure(length);
    this.position += length;
    return texts.read(this.#window, index, index + length) ?? textOfUtf8(this.#window.subarray(index, index + length));
  }

  /**
   * Returns the next bytes, as a view that is valid until the next read. `length` must be small.
   */
  take(length: number): Buffer {
    const index = this.#ensure(length);
    this.position += length;
    return this.#window.subarray(index, index + length);
  }

  /** Skips bytes without reading them. */
  skip(length: number): void {
    this.require(length);
    this.position += length;
    this.#limit += length;
    if (this.position > this.#windowStart + this.#window.length + FIRST_WINDOW) this.#nextWindow = FIRST_WINDOW;
  }

  /** Throws unless `length` more bytes exist. */
  require(length: number): void {
    if (!(length <= this.#source.size - this.position)) throw this.#truncated(length);
  }

  /** Returns the bytes up to the next newline, and moves past it. */
  line(): Buffer {
    let length = 64;
    for (;;) {
      const available = Math.min(length, this.#source.size - this.position);
      const index = this.#ensure(Math.max(available, 1));
      const end = this.#window.indexOf(NEWLINE, index);
      if (end !== -1) return this.#finishLine(index, end);
      if (available < length) throw this.#truncated(available + 1);
      if (length >= PICKLE_LIMITS.lineBytes) {
        throw new PickleFailure('LIMIT_EXCEEDED', this.position, `has a line of more than ${PICKLE_LIMITS.lineBytes} bytes`);
      }
      length *= 4;
    }
  }

  #finishLine(index: number, end: number): Buffer {
    this.position += end - index + 1;
    return this.#window.subarray(index, end);
  }
}
