import type { Findings } from '../../reading/findings.ts';
import type { ByteSource } from '../../../bytes/source/byte-source.ts';

/** One entry of an archive, as the central directory describes it, and the place of its data. */
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
  /** Offset of the local header in the source. */
  readonly headerOffset: number;
  /** Offset of the first data byte in the source; null when the local header is missing. */
  dataOffset: number | null;
}

/** The parsed central directory of a zip archive. */
export interface ZipArchive {
  readonly entries: readonly ZipEntry[];
  readonly byName: ReadonlyMap<string, ZipEntry>;
  /** True when the closing records and the directory were read to the end without contradiction. */
  readonly sound: boolean;
}

/** The findings of a reader about one archive. */
export interface ZipReading {
  readonly source: ByteSource;
  readonly findings: Findings;
}

/** The limits for reading a zip archive. */
export const ZIP_LIMITS = {
  /** Most entries that are held in memory at once. */
  entries: 120_000,
  /** Most bytes of names. */
  nameBytes: 16 * 1024 * 1024,
  /** The most bytes that one byte can inflate to. */
  inflateRatio: 1032,
} as const;

/** The compression method of a stored member. */
export const STORED = 0;
/** The compression method of a deflated member. */
export const DEFLATED = 8;
