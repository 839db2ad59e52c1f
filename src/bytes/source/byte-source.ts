/**
 * Bytes that can be read at any offset: a file, or a part of one. Format readers see nothing else,
 * so that a torch zip inside a DCP shard, or an HDF5 file inside a `.keras` archive, is read by the
 * same code as one that stands alone.
 */
export interface ByteSource {
  /** Path of the file below the root that is verified, for evidence. */
  readonly file: string;
  /** Where byte 0 of this source lies in the file; evidence gives offsets in the file. */
  readonly base: number;
  readonly size: number;
  /**
   * The bytes from `offset`, `length` of them or fewer where the source ends. Never more than
   * `LIMITS.readBytes`. Who reads a lot and keeps none of it lends `into`, which may then hold the
   * bytes: what was read into it before is gone.
   */
  read(offset: number, length: number, into?: Buffer): Buffer;
  /** A part of this source, clamped to it. */
  slice(offset: number, length: number): ByteSource;
  /**
   * Tells that bytes of it are about to be unpacked to so many; throws when that was done often
   * enough in one run.
   */
  unpacks?(bytes: number): void;
}

/** A source over bytes that are already in memory (a decompressed member, a test). */
export function memorySource(bytes: Buffer, file: string, base = 0): ByteSource {
  return new MemorySource(bytes, file, base);
}

class MemorySource implements ByteSource {
  readonly file: string;
  readonly base: number;
  readonly size: number;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer, file: string, base: number) {
    this.#bytes = bytes;
    this.file = file;
    this.base = base;
    this.size = bytes.length;
  }

  read(offset: number, length: number): Buffer {
    return this.#bytes.subarray(clamp(offset, this.size), clamp(offset + length, this.size));
  }

  slice(offset: number, length: number): ByteSource {
    return new MemorySource(this.read(offset, length), this.file, this.base + offset);
  }
}

/** `value` moved into 0…max. */
export function clamp(value: number, max: number): number {
  if (Number.isNaN(value)) return 0;
  return Math.min(Math.max(value, 0), max);
}

/**
 * The unsigned 64-bit little-endian integer at `offset`; Infinity where a number cannot hold it
 * exactly, so that every bounds check fails on it.
 */
export function u64le(bytes: Buffer, offset: number): number {
  const value = bytes.readUInt32LE(offset + 4) * 0x1_0000_0000 + bytes.readUInt32LE(offset);
  return Number.isSafeInteger(value) ? value : Number.POSITIVE_INFINITY;
}
