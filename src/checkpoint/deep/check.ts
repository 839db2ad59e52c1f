import type { EvidenceCode } from '../evidence/catalogue.ts';

export type Algorithm = 'crc32' | 'crc32c' | 'crc32c-masked' | 'fletcher32' | 'sha256';

/**
 * One stored checksum and the bytes it covers. Readers list these at every level, from the index alone; `--deep` reads the bytes
 * and compares. Plain data, so that it can travel to a worker thread.
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
  /** Hexadecimal; or where in the file it is stored (fletcher32: four bytes, little-endian, after the chunk). */
  readonly expected: string | { readonly at: number };
  /** What the bytes are, for the message: `record data/3`, `tensor layer1.weight`. */
  readonly what: string;
  /** Reported when they differ. */
  readonly code: EvidenceCode;
  /** How many of the findings' `payloadBytes` this vouches for. */
  readonly payloadBytes: number;
}
