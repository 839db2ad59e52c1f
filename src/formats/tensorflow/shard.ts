import { maskCrc32c } from '../../core/checksums.ts';
import { printable } from '../../core/printable.ts';
import { combineCrc } from '../../bytes/hashing/crc-combine.ts';
import type { Findings } from '../reading/findings.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import type { BundleEntry } from './bundle.ts';

const SAMPLES = 8;
const SAMPLE_BYTES = 4096;
/**
 * Of what quick may read of a file beyond the index, what is left for the lengths of string tensors
 * after the samples.
 */
const STRING_BYTES = 24 * 1024;

/** One data file, and what the index says about it. */
export class Shard {
  readonly source: ByteSource;
  stringBudget = STRING_BYTES;
  /**
   * Offsets and ends of all tensors, alternating: two numbers per tensor, since there can be very
   * many.
   */
  readonly #extents: number[] = [];
  #lost = 0;
  #saysNonZero = false;

  constructor(source: ByteSource) {
    this.source = source;
  }

  /** Notes a tensor; false when its bytes are not all there. */
  add({ offset, size, checksum }: BundleEntry): boolean {
    if (size > 0) this.#extents.push(offset, offset + size);
    if (offset + size > this.source.size) {
      this.#lost++;
      return false;
    }
    this.#saysNonZero ||= size > 0 && checksum !== maskCrc32c(crcOfZeros(size));
    return true;
  }

  /**
   * After the last tensor: does the file have the length it must, and do no two tensors share
   * bytes?
   */
  report(findings: Findings): void {
    const { file, size } = this.source;
    const end = this.#reportOverlaps(findings);
    const sizes = { file, offset: Math.min(end, size), expected: `${end} bytes`, found: `${size} bytes` };
    if (end > size) {
      const message = `${printable(file)} has ${size} bytes, but ${this.#lost} of its tensors end after that, the last at ${end}`;
      findings.add('TENSORFLOW_SHARD_CUT', sizes, message);
    } else if (end < size) {
      const message = `${printable(file)} has ${size} bytes, of which the index uses the first ${end}`;
      findings.add('TENSORFLOW_SHARD_TRAILING', sizes, message);
    }
    if (this.#saysNonZero && this.#looksAllZero()) {
      const message = `${printable(file)} holds nothing but zeros where it was sampled, but its tensors' checksums are of other bytes`;
      findings.add('FILE_ALL_ZERO', { file, offset: 0 }, message);
    }
  }

  #reportOverlaps(findings: Findings): number {
    const order = Array.from({ length: this.#extents.length / 2 }, (_, i) => i * 2);
    const at = (i: number) => this.#extents[i] ?? 0;
    order.sort((a, b) => at(a) - at(b));
    let end = 0;
    for (const i of order) {
      if (at(i) < end) {
        const { file } = this.source;
        const message = `${printable(file)}: the index gives the bytes at ${at(i)} to two tensors`;
        findings.add('TENSORFLOW_ENTRY_INVALID', { file, offset: at(i) }, message);
      }
      end = Math.max(end, at(i + 1));
    }
    return end;
  }

  /**
   * Zeros at evenly spread places, the first and the last among them; in a small file, zeros
   * everywhere.
   */
  #looksAllZero(): boolean {
    const { source } = this;
    const last = Math.max(0, source.size - SAMPLE_BYTES);
    for (let i = 0; i < SAMPLES; i++) {
      const sample = source.read(Math.floor((last * i) / (SAMPLES - 1)), SAMPLE_BYTES);
      if (sample.some((byte) => byte !== 0)) return false;
    }
    return source.size > 0;
  }
}

/**
 * Zeros only shift the checksum's start value, which is all ones, as is what is added at the end.
 */
function crcOfZeros(length: number): number {
  return combineCrc('crc32c', 0xffffffff, 0xffffffff, length);
}
