import { createHash } from 'node:crypto';
import { readSync } from 'node:fs';
import { createInflateRaw } from 'node:zlib';
import { crc32, crc32c, fletcher32, hex32, maskCrc32c } from '../../core/checksums.ts';
import type { Task } from './task.ts';

const WINDOW_BYTES = 4 * 1024 * 1024;
const window = Buffer.allocUnsafeSlow(WINDOW_BYTES);

/** Takes bytes in order and returns the checksum of all of them. */
interface Hasher {
  update(bytes: Uint8Array): void;
  value(): string;
}

function makeHasher(algorithm: Task['algorithm']): Hasher {
  switch (algorithm) {
    case 'crc32':
      return rolling(crc32, 0);
    case 'crc32c':
    case 'crc32c-masked':
      return rolling(crc32c, 0);
    case 'sha256': {
      const hash = createHash('sha256');
      return { update: (bytes) => void hash.update(bytes), value: () => hash.digest('hex') };
    }
    case 'fletcher32':
      return inWords(fletcher32);
  }
}

function rolling(next: (bytes: Uint8Array, previous: number) => number, start: number): Hasher {
  let state = start;
  return {
    update: (bytes) => {
      state = next(bytes, state);
    },
    value: () => hex32(state),
  };
}

/**
 * A checksum over words of two bytes continues only after whole words. An odd byte waits for the
 * next piece.
 */
function inWords(next: (bytes: Uint8Array, previous: number) => number): Hasher {
  let state = 0;
  let left: number | null = null;
  return {
    update: (bytes) => {
      let from = 0;
      const [first] = bytes;
      if (left !== null && first !== undefined) {
        state = next(Uint8Array.of(left, first), state);
        left = null;
        from = 1;
      }
      const end = bytes.length - ((bytes.length - from) % 2);
      state = next(bytes.subarray(from, end), state);
      left = bytes[end] ?? left;
    },
    value: () => hex32(left === null ? state : next(Uint8Array.of(left), state)),
  };
}

/** Hashes the range of a task. The caller combines the parts and applies the masked form. */
export async function hashRange(handle: number, task: Task): Promise<{ value: string | null; problem: string | null }> {
  const hasher = makeHasher(task.algorithm);
  const problem = task.encoding === 'stored' ? readInto(handle, task, hasher) : await inflateInto(handle, task, hasher);
  return problem === null ? { value: hasher.value(), problem } : { value: null, problem };
}

/** A CRC-32C in hexadecimal, in its masked form. */
export function maskedHex(hex: string): string {
  return hex32(maskCrc32c(Number.parseInt(hex, 16)));
}

/** The four bytes at `offset` as a little-endian number in hexadecimal, null past the end. */
export function readStored(handle: number, offset: number): string | null {
  const bytes = Buffer.alloc(4);
  return readSync(handle, bytes, 0, 4, offset) === 4 ? hex32(bytes.readUInt32LE(0)) : null;
}

function readInto(handle: number, { offset, length }: Task, hasher: Hasher): string | null {
  for (let done = 0; done < length; ) {
    const count = readSync(handle, window, 0, Math.min(WINDOW_BYTES, length - done), offset + done);
    if (count === 0) return `the file ends ${length - done} bytes early`;
    hasher.update(count === WINDOW_BYTES ? window : window.subarray(0, count));
    done += count;
  }
  return null;
}

/** Inflates in pieces, and stops when the output exceeds the length that the archive declares. */
function inflateInto(handle: number, { offset, length, decodedLength }: Task, hasher: Hasher): Promise<string | null> {
  return new Promise((resolve) => {
    const inflate = createInflateRaw({ chunkSize: 256 * 1024 });
    let produced = 0;
    const settle = (problem: string | null) => {
      inflate.destroy();
      resolve(problem);
    };
    inflate.on('data', (bytes: Buffer) => {
      produced += bytes.length;
      if (produced > decodedLength) settle(`more than the promised ${decodedLength} bytes come out`);
      else hasher.update(bytes);
    });
    inflate.on('end', () => settle(produced === decodedLength ? null : `${produced} bytes come out instead of ${decodedLength}`));
    inflate.on('error', (error) => settle(`does not inflate: ${error.message}`));
    let done = 0;
    const feed = () => {
      if (inflate.destroyed) return;
      const bytes = Buffer.allocUnsafe(Math.min(256 * 1024, length - done));
      const count = bytes.length === 0 ? 0 : readSync(handle, bytes, 0, bytes.length, offset + done);
      done += count;
      if (count === 0) inflate.end();
      else inflate.write(bytes.subarray(0, count), feed);
    };
    feed();
  });
}
