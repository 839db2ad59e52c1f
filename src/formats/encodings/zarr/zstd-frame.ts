import type { ByteSource } from '../../../bytes/source/byte-source.ts';

/** Whether the bytes are a whole zstd frame. */
export type ZstdFrame =
  /**
   * The frame ends at the end of the source; `contentSize` is its decompressed size, if the frame
   * declares one.
   */
  | { readonly kind: 'whole'; readonly contentSize: number | null }
  | { readonly kind: 'cut' }
  | { readonly kind: 'bad'; readonly says: string }
  /** The frame has too many blocks to follow. */
  | { readonly kind: 'unknown' };

const MAGIC = 0xfd2fb528;
const MAX_BLOCKS = 20_000;
const HEAD_BYTES = 18;
const BLOCK_HEADER_BYTES = 3;
const CUT: ZstdFrame = { kind: 'cut' };

/**
 * Follows the blocks of a zstd frame by their headers, three bytes each, without decompressing
 * anything.
 */
export function measureZstdFrame(source: ByteSource): ZstdFrame {
  const head = source.read(0, HEAD_BYTES);
  if (head.length < 6) return CUT;
  if (head.readUInt32LE(0) !== MAGIC) return { kind: 'bad', says: 'does not begin like compressed data' };
  const descriptor = head[4] as number;
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3] as number;
  const sizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >>> 6] as number;
  const sizeAt = 5 + (isSingleSegment ? 0 : 1) + dictionaryBytes;
  if (head.length < sizeAt + sizeBytes) return CUT;
  const end = followBlocks(source, sizeAt + sizeBytes);
  if (typeof end !== 'number') return end;
  return judgeEnd(end + ((descriptor & 4) !== 0 ? 4 : 0), source.size, readContentSize(head, sizeAt, sizeBytes));
}

function judgeEnd(end: number, size: number, contentSize: number | null): ZstdFrame {
  if (end > size) return CUT;
  return end === size
    ? { kind: 'whole', contentSize }
    : { kind: 'bad', says: `has ${size - end} bytes after the end of its compressed data` };
}

function readContentSize(head: Buffer, at: number, width: number): number | null {
  if (width === 0) return null;
  if (width === 8) return Number(head.readBigUInt64LE(at));
  // A two-byte size counts from 256.
  return head.readUIntLE(at, width) + (width === 2 ? 256 : 0);
}

/** Returns the end of the last block, or the reason why there is none. */
function followBlocks(source: ByteSource, from: number): number | ZstdFrame {
  let at = from;
  for (let i = 0; i < MAX_BLOCKS; i++) {
    const bytes = source.read(at, BLOCK_HEADER_BYTES);
    if (bytes.length < BLOCK_HEADER_BYTES) return CUT;
    const header = bytes.readUIntLE(0, BLOCK_HEADER_BYTES);
    const type = (header >>> 1) & 3;
    if (type === 3) return { kind: 'bad', says: 'has a block of compressed data of a kind that does not exist' };
    at += BLOCK_HEADER_BYTES + (type === 1 ? 1 : header >>> 3);
    if ((header & 1) !== 0) return at;
  }
  return { kind: 'unknown' };
}
