import type { Need } from '../formats/reading/content.ts';
import type { Evidence } from '../evidence/evidence.ts';
import type { IntegrityStatus, Verdict } from './verdict.ts';

/**
 * Version of the JSON form. A field may be added under the same number; a change of meaning makes a
 * new one.
 */
export const REPORT_SCHEMA = 'holdfast.verify/1';

/** How far verify looks. */
export type Level = 'quick' | 'deep';

/** The output of `holdfast verify --json`; docs/reference/verify-json.md documents every field. */
export interface VerifyReport {
  readonly schema: typeof REPORT_SCHEMA;
  readonly level: Level;
  readonly paths: readonly PathReport[];
}

/** What verify says about one path. */
export interface PathReport {
  /** As the user gave it. */
  readonly path: string;
  readonly checkpoints: readonly CheckpointReport[];
  /** The newest checkpoint a run could resume from, as a path; null without one. */
  readonly lastGood: string | null;
  /** Evidence about the run as a whole: trackers, leftovers, folders that could not be read. */
  readonly evidence: readonly Evidence[];
  /** Files outside of every checkpoint. */
  readonly ignoredFiles: number;
  readonly bytesRead: number;
}

/** What verify says about one checkpoint. */
export interface CheckpointReport {
  readonly path: string;
  readonly format: { readonly id: string; readonly title: string } | null;
  readonly kind: 'directory' | 'set' | 'group' | 'file';
  readonly grouping: string;
  readonly files: number;
  readonly bytes: number;
  readonly step: number | null;
  readonly verdict: Verdict;
  readonly isLastGood: boolean;
  /** Weights that a finished run left beside its checkpoints, for use and not for a resume. */
  readonly isExport: boolean;
  readonly integrity: IntegrityReport;
  readonly content: ContentReport;
  readonly security: SecurityReport;
  readonly evidence: readonly Evidence[];
  /** The number of unlisted pieces of evidence, by code. */
  readonly more: Readonly<Record<string, number>>;
}

/** How far checksums cover the bytes, and what they proved. */
export interface IntegrityReport {
  readonly status: IntegrityStatus;
  readonly algorithms: readonly string[];
  readonly payloadBytes: number;
  /** How many of these a stored checksum covers, and how many were compared. */
  readonly coveredBytes: number;
  readonly checkedBytes: number;
}

/** What a trainer would find in the checkpoint. */
export interface ContentReport {
  readonly weights: FoundReport;
  readonly optimizer: FoundReport;
  readonly scheduler: FoundReport;
  readonly rng: FoundReport & { readonly ranks: readonly number[]; readonly expectedRanks: number | null };
  readonly step: { readonly found: boolean; readonly value: number | null };
  readonly worldSize: number | null;
  /**
   * True for sealed files of no known format. Only their trainer knows the content, so nothing
   * counts as missing.
   */
  readonly isOpaque: boolean;
  readonly missing: readonly Need[];
}

interface FoundReport {
  readonly found: boolean;
  readonly where: readonly string[];
}

/** What loading the pickles of the checkpoint would call. */
export interface SecurityReport {
  /** True when loading would call something outside the frameworks' own names. */
  readonly isUnsafe: boolean;
  /** Every name that a load would import, with its count. */
  readonly globals: readonly { readonly name: string; readonly count: number }[];
}
