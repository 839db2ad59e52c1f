import { PART_BYTES, type SealedFile } from '../../seal/manifest.ts';
import type { ObjectPlan, PlannedPart, StoredObject } from './backend.ts';
import { combineCrc } from '../../bytes/hashing/crc-combine.ts';
import { crc32c } from '../../core/checksums.ts';

/**
 * Parts of an upload: small enough that a lost one costs little, large enough to hide the cost of
 * requests.
 */
const UPLOAD_PART_BYTES = 4 * PART_BYTES;
/** The most parts that S3 accepts. */
const MAX_PARTS = 10_000;

/**
 * Plans the upload of a sealed file. Two runs make the same plan, so that the second can resume the
 * first's upload.
 */
export function planObject({ size, crc32c: sums }: SealedFile): ObjectPlan {
  const perPart = Math.max(UPLOAD_PART_BYTES, Math.ceil(size / MAX_PARTS / PART_BYTES) * PART_BYTES);
  const parts: PlannedPart[] = [];
  for (let offset = 0; offset < size; offset += perPart) {
    const length = Math.min(perPart, size - offset);
    parts.push({ index: parts.length, offset, size: length, crc32c: combineSums(sums, offset, length) });
  }
  return { size, crc32c: combineSums(sums, 0, size), parts };
}

/** Combines the checksums of sealed parts into the checksum of a range of whole parts. */
function combineSums(sums: readonly string[], offset: number, length: number): number {
  let sum = 0;
  for (let at = offset; at < offset + length; at += PART_BYTES) {
    const part = Number.parseInt(sums[at / PART_BYTES] ?? '', 16);
    sum = at === offset ? part : combineCrc('crc32c', sum, part, Math.min(PART_BYTES, offset + length - at));
  }
  return sum;
}

/** Plans a small object in memory. */
export function planBytes(bytes: Uint8Array): ObjectPlan {
  const sum = crc32c(bytes);
  return { size: bytes.byteLength, crc32c: sum, parts: [{ index: 0, offset: 0, size: bytes.byteLength, crc32c: sum }] };
}

/** Compares an object with its plan: `unknown` when only its bytes could tell. */
export function compareStored(stored: StoredObject, plan: ObjectPlan): 'same' | 'different' | 'unknown' {
  if (stored.size !== plan.size) return 'different';
  if (stored.checksum === null) return 'unknown';
  const { checksum } = stored;
  if (checksum.kind === 'whole') return checksum.crc32c === plan.crc32c ? 'same' : 'different';
  // Another program may have uploaded it in other parts, about which this checksum says nothing.
  if (checksum.count !== plan.parts.length) return 'unknown';
  return checksum.crc32c === partsChecksum(plan.parts) ? 'same' : 'different';
}

/** The checksum over the parts' checksums, as S3 keeps it. */
export function partsChecksum(parts: readonly PlannedPart[]): number {
  const bytes = Buffer.alloc(parts.length * 4);
  for (const { index, crc32c: sum } of parts) bytes.writeUInt32BE(sum >>> 0, index * 4);
  return crc32c(bytes);
}

/** Writes a checksum in the form of S3 and GCS. */
export function encodeCrc32c(sum: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(sum >>> 0);
  return bytes.toString('base64');
}

/** Reads a checksum; null when the text is none. */
export function decodeCrc32c(text: string): number | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === 4 ? bytes.readUInt32BE() : null;
}
