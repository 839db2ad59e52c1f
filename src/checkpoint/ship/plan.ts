import { PART_BYTES, type SealedFile } from '../store/manifest.ts';
import type { ObjectPlan, PlannedPart, StoredObject } from './backend.ts';
import { combineCrc } from '../deep/crc-combine.ts';
import { crc32c } from '../../core/checksums.ts';

/** Parts of an upload: small enough that a lost one costs little, large enough that requests do not count. */
const UPLOAD_PART_BYTES = 4 * PART_BYTES;
/** S3 takes no more parts than this. */
const MAX_PARTS = 10_000;

/** How a sealed file goes over the wire. Two runs of the command make the same plan, so that the second can go on with the first's parts. */
export function planObject({ size, crc32c: sums }: SealedFile): ObjectPlan {
  const perPart = Math.max(UPLOAD_PART_BYTES, Math.ceil(size / MAX_PARTS / PART_BYTES) * PART_BYTES);
  const parts: PlannedPart[] = [];
  for (let offset = 0; offset < size; offset += perPart) {
    const length = Math.min(perPart, size - offset);
    parts.push({ index: parts.length, offset, size: length, crc32c: combineSums(sums, offset, length) });
  }
  return { size, crc32c: combineSums(sums, 0, size), parts };
}

/** The checksum of a stretch that begins at a sealed part and ends with one, from the checksums of the sealed parts. */
function combineSums(sums: readonly string[], offset: number, length: number): number {
  let sum = 0;
  for (let at = offset; at < offset + length; at += PART_BYTES) {
    const part = Number.parseInt(sums[at / PART_BYTES] ?? '', 16);
    sum = at === offset ? part : combineCrc('crc32c', sum, part, Math.min(PART_BYTES, offset + length - at));
  }
  return sum;
}

/** A small object whose bytes are at hand. */
export function planBytes(bytes: Uint8Array): ObjectPlan {
  const sum = crc32c(bytes);
  return { size: bytes.byteLength, crc32c: sum, parts: [{ index: 0, offset: 0, size: bytes.byteLength, crc32c: sum }] };
}

/** Whether an object is what the plan says: `unknown` when only its bytes could tell. */
export function compareStored(stored: StoredObject, plan: ObjectPlan): 'same' | 'different' | 'unknown' {
  if (stored.size !== plan.size) return 'different';
  if (stored.checksum === null) return 'unknown';
  const { checksum } = stored;
  if (checksum.kind === 'whole') return checksum.crc32c === plan.crc32c ? 'same' : 'different';
  // Somebody else may have uploaded it in other parts, about which this checksum says nothing.
  if (checksum.count !== plan.parts.length) return 'unknown';
  return checksum.crc32c === partsChecksum(plan.parts) ? 'same' : 'different';
}

/** The checksum over the parts' checksums, as S3 keeps it. */
export function partsChecksum(parts: readonly PlannedPart[]): number {
  const bytes = Buffer.alloc(parts.length * 4);
  for (const { index, crc32c: sum } of parts) bytes.writeUInt32BE(sum >>> 0, index * 4);
  return crc32c(bytes);
}

/** A checksum as S3 and GCS write it. */
export function encodeCrc32c(sum: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(sum >>> 0);
  return bytes.toString('base64');
}

/** Null when it is not one. */
export function decodeCrc32c(text: string): number | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === 4 ? bytes.readUInt32BE() : null;
}
