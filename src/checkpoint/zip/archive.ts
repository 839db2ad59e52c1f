import type { Findings } from '../findings.ts';
import type { ByteSource } from '../source/byte-source.ts';

/** One entry of an archive, as its central directory describes it, and where its data lies. */
export interface ZipEntry {
  readonly name: string;
  /** 0 stored, 8 deflated. */
  readonly method: number;
  readonly flags: number;
  readonly crc: number;
  readonly compressedSize: number;
  readonly size: number;
  /** Bytes of the name. */
  readonly nameLength: number;
  /** Of the local header, in the source. */
  readonly headerOffset: number;
  /** Of the first data byte, in the source; null when the local header is not there. */
  dataOffset: number | null;
}

export interface ZipArchive {
  readonly entries: readonly ZipEntry[];
  readonly byName: ReadonlyMap<string, ZipEntry>;
  /** True when the closing records and the directory were read to the end without contradiction. */
  readonly sound: boolean;
}

/** Where a reader writes what it finds about one archive. */
export interface ZipReading {
  readonly source: ByteSource;
  readonly findings: Findings;
}

export const ZIP_LIMITS = {
  /** Most entries that are held in memory at once. */
  entries: 120_000,
  /** Most bytes of names. */
  nameBytes: 16 * 1024 * 1024,
  /** Most that one byte can inflate to. */
  inflateRatio: 1032,
} as const;

export const STORED = 0;
export const DEFLATED = 8;
