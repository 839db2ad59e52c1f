import type { EvidenceCode } from '../../evidence/catalogue.ts';

/** The algorithm of a stored checksum. */
export type Algorithm = 'crc32' | 'crc32c' | 'crc32c-masked' | 'fletcher32' | 'sha256';

/**
 * One stored checksum and the bytes it covers. Readers list these at every level, from the index
 * alone; `--deep` reads the bytes and compares. Plain data, so that it can travel to a worker
 * thread.
 */
export interface Check {
  readonly algorithm: Algorithm;
  readonly file: string;
  /** The stored bytes, as offset and length in the file. */
  readonly offset: number;
  readonly length: number;
  /** `deflate`: the checksum is over the inflated bytes, of which there are `decodedLength`. */
  readonly encoding: 'stored' | 'deflate';
  readonly decodedLength: number;
  /**
   * Hexadecimal; or its place in the file (fletcher32: four bytes, little-endian, after the chunk).
   */
  readonly expected: string | { readonly at: number };
  /** The name of the bytes for messages: `record data/3`, `tensor layer1.weight`. */
  readonly what: string;
  /** The code reported when the checksums differ. */
  readonly code: EvidenceCode;
  /** The number of the findings' `payloadBytes` that this check covers. */
  readonly payloadBytes: number;
}
