import type { Findings } from '../findings.ts';
import type { ByteSource } from '../source/byte-source.ts';
import type { ZipEntry } from '../zip/archive.ts';

/** Records whose first bytes are looked at, and how many bytes of each: together well below what a quick look may read. */
const SAMPLES = 8;
const SAMPLE_BYTES = 4096;

/** False when every entry that has bytes carries the checksum 0: the writer stored none. Nothing has 0 as its checksum by chance, but what is empty. */
export function usesChecksums(entries: readonly ZipEntry[]): boolean {
  let isEmpty = true;
  for (const { size, crc } of entries) {
    if (size === 0) continue;
    if (crc !== 0) return true;
    isEmpty = false;
  }
  return isEmpty;
}

interface Unchecked {
  /** The records of tensor data. */
  readonly records: readonly ZipEntry[];
  /** True when the other records do have checksums: the sign of a writer that only reserved the space of the tensors. */
  readonly isPickleChecked: boolean;
}

/** Tells why the tensor records have no checksums: never written, or written without. */
export function reportMissingChecksums(source: ByteSource, findings: Findings, { records, isPickleChecked }: Unchecked): void {
  const count = records.length;
  if (isPickleChecked && isUnfilled(source, records)) {
    const message = `the ${count} records of tensor data have no checksums and hold zeros: the data was never written`;
    findings.add('TORCH_DATA_SKIPPED', { file: source.file }, message);
    return;
  }
  const message = `the ${count} records of tensor data carry no checksums: the writer had them switched off`;
  findings.add('TORCH_NO_CHECKSUMS', { file: source.file }, message);
}

/** True when the records hold zeros as far as a few of the largest were looked at. */
function isUnfilled(source: ByteSource, records: readonly ZipEntry[]): boolean {
  const largest = records.filter(({ size, dataOffset }) => size > 0 && dataOffset !== null).sort((a, b) => b.size - a.size);
  const samples = largest.slice(0, SAMPLES);
  return samples.length > 0 && samples.every((entry) => isZero(source.read(entry.dataOffset ?? 0, Math.min(entry.size, SAMPLE_BYTES))));
}

function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}
