import { constants, zstdDecompressSync } from 'node:zlib';
import { crc32c, hex32 } from '../../../core/checksums.ts';
import { type ByteSource, u64le } from '../../../bytes/source/byte-source.ts';
import type { Encoding, Sharding, ZarrArray } from './array-metadata.ts';
import { measureZstdFrame } from './zstd-frame.ts';

/** The fault of a stored chunk, as far as its structure shows one. */
export interface ChunkProblem {
  readonly kind: 'cut' | 'corrupt';
  readonly expected?: string;
  readonly found?: string;
  /** Completes a sentence that begins with the name of the chunk. */
  readonly says: string;
}

const MAX_INDEX_BYTES = 16 * 1024 * 1024;
const INDEX_ENTRY_BYTES = 16;

/**
 * Checks the structure of a chunk, but not its numbers: lengths, block headers, the index of a
 * divided chunk and its checksum.
 */
export function inspectChunk(source: ByteSource, { encoding, chunkBytes, sharding }: ZarrArray): ChunkProblem | null {
  if (sharding !== null) return inspectSharded(source, sharding);
  return inspectPiece(source, encoding, chunkBytes);
}

function inspectPiece(source: ByteSource, encoding: Encoding, bytes: number | null): ChunkProblem | null {
  if (source.size === 0) return { kind: 'cut', says: 'is empty' };
  if (encoding === 'raw') return bytes === null ? null : compareSize(source.size, bytes);
  if (encoding === 'other') return null;
  const frame = measureZstdFrame(source);
  if (frame.kind === 'cut') return { kind: 'cut', says: `ends before its compressed data does, after ${source.size} bytes` };
  if (frame.kind === 'bad') return { kind: 'corrupt', says: frame.says };
  if (frame.kind === 'unknown' || frame.contentSize === null || bytes === null || frame.contentSize === bytes) return null;
  const sizes = { expected: `${bytes} bytes`, found: `${frame.contentSize} bytes` };
  return { kind: 'corrupt', ...sizes, says: `unfolds to ${frame.contentSize} bytes where the array needs ${bytes}` };
}

function compareSize(found: number, expected: number): ChunkProblem | null {
  if (found === expected) return null;
  const sizes = { expected: `${expected} bytes`, found: `${found} bytes` };
  return { kind: found < expected ? 'cut' : 'corrupt', ...sizes, says: `has ${found} bytes where the array needs ${expected}` };
}

function inspectSharded(source: ByteSource, sharding: Sharding): ChunkProblem | null {
  const index = readIndex(source, sharding);
  if (index === null) return null;
  if (!Buffer.isBuffer(index)) return index;
  for (let i = 0; i < sharding.pieces; i++) {
    const place = pieceAt(index, i);
    if (place === null) continue;
    if (!(place.offset + place.length <= source.size)) {
      return { kind: 'corrupt', says: `places its piece ${i} at ${place.offset}, beyond its ${source.size} bytes` };
    }
    if (sharding.encoding === 'raw' && sharding.pieceBytes !== null) {
      const wrong = compareSize(place.length, sharding.pieceBytes);
      if (wrong !== null) return { ...wrong, says: `has a piece that ${wrong.says}` };
    }
  }
  return null;
}

/** Returns the verified index; null when Holdfast does not inspect its kind or size. */
function readIndex(source: ByteSource, { pieces, hasIndexChecksum, isIndexAtEnd }: Sharding): Buffer | ChunkProblem | null {
  if (hasIndexChecksum === null) return null;
  const entries = pieces * INDEX_ENTRY_BYTES;
  const length = entries + (hasIndexChecksum ? 4 : 0);
  if (source.size < length) return { kind: 'cut', says: `has ${source.size} bytes, fewer than the ${length} of its index` };
  if (length > MAX_INDEX_BYTES) return null;
  const bytes = source.read(isIndexAtEnd ? source.size - length : 0, length);
  if (!hasIndexChecksum) return bytes;
  const stored = bytes.readUInt32LE(entries);
  const computed = crc32c(bytes.subarray(0, entries));
  if (stored === computed) return bytes;
  return { kind: 'corrupt', expected: hex32(stored), found: hex32(computed), says: 'has an index that does not match its checksum' };
}

/** Null for a piece that is not stored: all ones in both numbers. */
function pieceAt(index: Buffer, i: number): { offset: number; length: number } | null {
  const at = i * INDEX_ENTRY_BYTES;
  if (index.subarray(at, at + INDEX_ENTRY_BYTES).every((byte) => byte === 0xff)) return null;
  return { offset: u64le(index, at), length: u64le(index, at + 8) };
}

/**
 * Returns the integer of a scalar array from its only chunk. Returns null for other arrays and for
 * unsupported encodings.
 */
export function readScalar(chunk: ByteSource, array: ZarrArray): number | null {
  if (array.grid.length > 0 || chunk.size > 256 || !/^[<|][iu][1248]$|^u?int(8|16|32|64)$/.test(array.dtype)) return null;
  const bytes = array.sharding === null ? decodePiece(chunk.read(0, chunk.size), array.encoding) : decodeSharded(chunk, array.sharding);
  if (bytes === null || bytes.length !== array.chunkBytes) return null;
  const value = bytes.length === 8 ? Number(bytes.readBigInt64LE(0)) : bytes.readIntLE(0, bytes.length);
  return Number.isSafeInteger(value) ? value : null;
}

function decodeSharded(chunk: ByteSource, sharding: Sharding): Buffer | null {
  const index = readIndex(chunk, sharding);
  if (!Buffer.isBuffer(index)) return null;
  const place = pieceAt(index, 0);
  return place === null ? null : decodePiece(chunk.read(place.offset, place.length), sharding.encoding);
}

function decodePiece(bytes: Buffer, encoding: Encoding): Buffer | null {
  if (encoding === 'raw') return bytes;
  if (encoding === 'other') return null;
  try {
    return zstdDecompressSync(bytes, { maxOutputLength: 64, params: { [constants.ZSTD_d_windowLogMax]: 23 } });
  } catch {
    return null;
  }
}
