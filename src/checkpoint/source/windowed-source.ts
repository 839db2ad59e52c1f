import type { ByteSource } from './byte-source.ts';

const WINDOW = 4096;
const KEPT = 2;

interface Window {
  readonly start: number;
  readonly bytes: Buffer;
}

/**
 * A view of a source for readers that jump between a few places and take little at each: what lies around a read is fetched with it,
 * and the last two such windows are kept. Where torch files lie back to back, the end of one and the beginning of the next are one read.
 */
export function windowedSource(source: ByteSource): ByteSource {
  const windows: Window[] = [];
  const read = (offset: number, length: number): Buffer => {
    if (length > WINDOW / 2) return source.read(offset, length);
    const end = Math.min(offset + length, source.size);
    let window = windows.find(({ start, bytes }) => start <= offset && end <= start + bytes.length);
    if (window === undefined) {
      const start = Math.max(0, offset - WINDOW / 2);
      window = { start, bytes: source.read(start, WINDOW) };
      windows.push(window);
      if (windows.length > KEPT) windows.shift();
    }
    return window.bytes.subarray(offset - window.start, Math.max(offset, end) - window.start);
  };
  return part(source, read, 0);
}

/** `at` is where the part begins in the source under the windows. */
function part(source: ByteSource, read: ByteSource['read'], at: number): ByteSource {
  return {
    file: source.file,
    base: source.base,
    size: source.size,
    read: (offset, length) => {
      const from = Math.min(Math.max(offset, 0), source.size);
      return read(at + from, Math.min(Math.max(length, 0), source.size - from));
    },
    slice: (offset, length) => {
      const inner = source.slice(offset, length);
      return part(inner, read, at + inner.base - source.base);
    },
  };
}
