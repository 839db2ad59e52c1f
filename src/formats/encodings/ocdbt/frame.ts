import { constants, zstdDecompressSync } from 'node:zlib';
import { crc32c, hex32 } from '../../../core/checksums.ts';
import { ByteCursor } from '../../../bytes/source/byte-cursor.ts';
import { u64le } from '../../../bytes/source/byte-source.ts';

/** The kinds of frames, by their first four bytes. */
export const FRAME_MAGIC = { manifest: 0x0cdb3a2a, versionNode: 0x0cdb1234, btreeNode: 0x0cdb20de } as const;
/** A kind of frame in an OCDBT database. */
export type FrameKind = keyof typeof FRAME_MAGIC;

/** Why a frame is unreadable. `cut`: its length field exceeds the available bytes. */
export interface FrameProblem {
  readonly problem: 'cut' | 'corrupt' | 'limit';
  readonly expected?: string;
  readonly found?: string;
  /** Completes a sentence that begins with the kind of frame. */
  readonly says: string;
}

/** The most decoded bytes of a node. Writers keep decoded nodes near 8 MiB. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;
const HEADER_BYTES = 12;
const CHECKSUM_BYTES = 4;

/**
 * Verifies the frame that all parts of an OCDBT database share (magic, length, checksum,
 * compression) and returns its body.
 */
export function readFrame(bytes: Buffer, kind: FrameKind): { readonly body: Buffer } | FrameProblem {
  const broken = checkFrame(bytes, kind);
  if (broken !== null) return broken;
  const cursor = new ByteCursor(bytes.subarray(HEADER_BYTES, bytes.length - CHECKSUM_BYTES));
  const version = cursor.varint();
  const compression = cursor.varint();
  const body = cursor.take(cursor.remaining);
  if (cursor.failed || version !== 0 || compression > 1) {
    return { problem: 'corrupt', says: `is of version ${version} with compression ${compression}, which no writer uses` };
  }
  return compression === 0 ? { body } : decompress(body);
}

function checkFrame(bytes: Buffer, kind: FrameKind): FrameProblem | null {
  if (bytes.length < HEADER_BYTES + CHECKSUM_BYTES)
    return { problem: 'cut', says: `has ${bytes.length} bytes, fewer than its header alone` };
  const magic = bytes.readUInt32BE(0);
  if (magic !== FRAME_MAGIC[kind]) {
    return { problem: 'corrupt', expected: hex32(FRAME_MAGIC[kind]), found: hex32(magic), says: 'does not begin as it must' };
  }
  const length = u64le(bytes, 4);
  if (length !== bytes.length) {
    const sizes = { expected: `${length} bytes`, found: `${bytes.length} bytes` };
    return {
      problem: length > bytes.length ? 'cut' : 'corrupt',
      ...sizes,
      says: `says that it has ${length} bytes and has ${bytes.length}`,
    };
  }
  const stored = bytes.readUInt32LE(bytes.length - CHECKSUM_BYTES);
  const computed = crc32c(bytes.subarray(0, bytes.length - CHECKSUM_BYTES));
  if (stored === computed) return null;
  return { problem: 'corrupt', expected: hex32(stored), found: hex32(computed), says: 'does not match its checksum' };
}

function decompress(body: Buffer): { readonly body: Buffer } | FrameProblem {
  try {
    return { body: zstdDecompressSync(body, { maxOutputLength: MAX_BODY_BYTES, params: { [constants.ZSTD_d_windowLogMax]: 25 } }) };
  } catch (thrown) {
    if (thrown instanceof RangeError) return { problem: 'limit', says: `unfolds to more than ${MAX_BODY_BYTES} bytes` };
    return { problem: 'corrupt', says: 'cannot be decompressed' };
  }
}
