import { hex32 } from '../../core/checksums.ts';
import { excerpt } from '../../core/printable.ts';
import { NameColumn, NumberColumn } from '../number-column.ts';
import type { Check } from './check.ts';

/** A CRC-32 over tensor bytes stored uncompressed in a file. */
export interface StoredCrc {
  readonly file: string;
  readonly offset: number;
  readonly length: number;
  readonly crc: number;
  /** Name of the zip entry. */
  readonly entry: string;
}

/** Torch files use only a handful of names for their records. */
const MOST_NAMES = 1000;
const UNNAMED = '(one of many)';

/**
 * Very many checks of one kind, stored as columns: a distributed checkpoint has one for each chunk.
 */
export class CrcList {
  readonly #files = new NameColumn();
  readonly #entries = new NameColumn();
  readonly #file = new NumberColumn();
  readonly #entry = new NumberColumn();
  readonly #offset = new NumberColumn();
  readonly #length = new NumberColumn();
  readonly #crc = new NumberColumn();
  /** The number of bytes that the checks cover. */
  bytes = 0;

  get length(): number {
    return this.#crc.length;
  }

  push({ file, offset, length, crc, entry }: StoredCrc): void {
    this.#file.push(this.#files.idOf(file));
    this.#entry.push(this.#entries.find(entry) ?? this.#entries.idOf(this.#entries.length < MOST_NAMES ? excerpt(entry) : UNNAMED));
    this.#offset.push(offset);
    this.#length.push(length);
    this.#crc.push(crc);
    this.bytes += length;
  }

  at(index: number): StoredCrc {
    return {
      file: this.#files.at(this.#file.at(index)),
      offset: this.#offset.at(index),
      length: this.#length.at(index),
      crc: this.#crc.at(index),
      entry: this.#entries.at(this.#entry.at(index)),
    };
  }

  /** The checks from one index up to another, excluding the second. */
  checks(start: number, end: number): Check[] {
    return Array.from({ length: Math.min(end, this.length) - start }, (_, index) => checkOf(this.at(start + index)));
  }
}

function checkOf({ file, offset, length, crc, entry }: StoredCrc): Check {
  return {
    algorithm: 'crc32',
    file,
    offset,
    length,
    encoding: 'stored',
    decodedLength: length,
    expected: hex32(crc),
    what: `entry ${entry}`,
    code: 'ZIP_CRC_MISMATCH',
    payloadBytes: length,
  };
}
