import { type ByteSource, clamp } from './byte-source.ts';

/**
 * Windows begin small, because what lies between two places that are read may be large. They grow
 * while they follow one another.
 */
const SMALLEST = 4096;
const LARGEST = 64 * 1024;
const KEPT = 2;

interface Window {
  readonly start: number;
  readonly bytes: Buffer;
}

/**
 * A view of a source for readers that jump between a few places and take little at each: what lies
 * around a read is fetched with it, and the last two such windows are kept. Where torch files lie
 * back to back, the end of one and the beginning of the next are one read.
 */
export function windowedSource(source: ByteSource): ByteSource {
  return new WindowedSource(new Windows(source), source, 0);
}

class Windows {
  readonly #source: ByteSource;
  readonly #windows: Window[] = [];
  #size = SMALLEST;

  constructor(source: ByteSource) {
    this.#source = source;
  }

  read(offset: number, length: number): Buffer {
    if (length > SMALLEST / 2) return this.#source.read(offset, length);
    const end = Math.min(offset + length, this.#source.size);
    for (let index = this.#windows.length - 1; index >= 0; index--) {
      const { start, bytes } = this.#windows[index] as Window;
      if (start <= offset && end <= start + bytes.length) return bytes.subarray(offset - start, Math.max(offset, end) - start);
    }
    const { start, bytes } = this.#fetch(offset);
    return bytes.subarray(offset - start, Math.max(offset, end) - start);
  }

  #fetch(offset: number): Window {
    const last = this.#windows[this.#windows.length - 1];
    const isNext = last !== undefined && offset > last.start && offset <= last.start + last.bytes.length + SMALLEST / 2;
    this.#size = isNext ? Math.min(this.#size * 2, LARGEST) : SMALLEST;
    const start = Math.max(0, offset - SMALLEST / 2);
    const window = { start, bytes: this.#source.read(start, this.#size) };
    this.#windows.push(window);
    if (this.#windows.length > KEPT) this.#windows.shift();
    return window;
  }
}

class WindowedSource implements ByteSource {
  readonly file: string;
  readonly base: number;
  readonly size: number;
  readonly #windows: Windows;
  /** Where it begins in the source under the windows. */
  readonly #at: number;

  constructor(windows: Windows, { file, base, size }: Pick<ByteSource, 'file' | 'base' | 'size'>, at: number) {
    this.file = file;
    this.base = base;
    this.size = size;
    this.#windows = windows;
    this.#at = at;
  }

  read(offset: number, length: number): Buffer {
    const from = clamp(offset, this.size);
    return this.#windows.read(this.#at + from, clamp(length, this.size - from));
  }

  slice(offset: number, length: number): ByteSource {
    const from = clamp(offset, this.size);
    const part = { file: this.file, base: this.base + from, size: clamp(length, this.size - from) };
    return new WindowedSource(this.#windows, part, this.#at + from);
  }
}
