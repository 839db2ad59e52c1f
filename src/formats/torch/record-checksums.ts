import type { Findings } from '../reading/findings.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import type { ZipEntry } from '../encodings/zip/archive.ts';

/**
 * How many records to sample, and how many bytes of each. Together they stay well below the read
 * limit of a quick look.
 */
const SAMPLES = 8;
const SAMPLE_BYTES = 4096;

/**
 * Returns false when every entry that has bytes carries the checksum 0, so the writer stored none.
 * Only empty data has the checksum 0 in practice.
 */
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
  /** Returns the records of tensor data. */
  readonly records: readonly ZipEntry[];
  /**
   * Returns true when the other records have checksums. In that case the writer only reserved the
   * space of the tensors.
   */
  readonly isPickleChecked: boolean;
}

/**
 * Explains why the tensor records have no checksums: their data was never written, or the writer
 * stored none.
 */
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

/** Returns true when samples of the largest records hold only zeros. */
function isUnfilled(source: ByteSource, records: readonly ZipEntry[]): boolean {
  const largest = records.filter(({ size, dataOffset }) => size > 0 && dataOffset !== null).sort((a, b) => b.size - a.size);
  const samples = largest.slice(0, SAMPLES);
  return samples.length > 0 && samples.every((entry) => isZero(source.read(entry.dataOffset ?? 0, Math.min(entry.size, SAMPLE_BYTES))));
}

function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}
