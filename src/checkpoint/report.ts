import type { Need } from './content.ts';
import type { Evidence } from './evidence/evidence.ts';
import type { IntegrityStatus, Verdict } from './verdict.ts';

/** Version of the JSON form. A field may be added under the same number; a change of meaning makes a new one. */
export const REPORT_SCHEMA = 'holdfast.verify/1';

export type Level = 'quick' | 'deep';

/** What `holdfast verify --json` prints; documented field by field in docs/reference/verify-json.md. */
export interface VerifyReport {
  readonly schema: typeof REPORT_SCHEMA;
  readonly level: Level;
  readonly paths: readonly PathReport[];
}

export interface PathReport {
  /** As it was given. */
  readonly path: string;
  readonly checkpoints: readonly CheckpointReport[];
  /** The newest checkpoint a run could resume from, as a path to hand over; null when there is none. */
  readonly lastGood: string | null;
  /** Evidence about the run as a whole: trackers, leftovers, folders that could not be read. */
  readonly evidence: readonly Evidence[];
  /** Files that are no part of any checkpoint. */
  readonly ignoredFiles: number;
  readonly bytesRead: number;
}

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
  readonly integrity: IntegrityReport;
  readonly content: ContentReport;
  readonly security: SecurityReport;
  readonly evidence: readonly Evidence[];
  /** How much more evidence there was of a code than is listed. */
  readonly more: Readonly<Record<string, number>>;
}

export interface IntegrityReport {
  readonly status: IntegrityStatus;
  readonly algorithms: readonly string[];
  readonly payloadBytes: number;
  /** How many of these a stored checksum covers, and how many were compared. */
  readonly coveredBytes: number;
  readonly checkedBytes: number;
}

export interface ContentReport {
  readonly weights: FoundReport;
  readonly optimizer: FoundReport;
  readonly scheduler: FoundReport;
  readonly rng: FoundReport & { readonly ranks: readonly number[]; readonly expectedRanks: number | null };
  readonly step: { readonly found: boolean; readonly value: number | null };
  readonly worldSize: number | null;
  /** True for sealed files of no known format: what is in them only their trainer knows, and nothing counts as missing. */
  readonly isOpaque: boolean;
  readonly missing: readonly Need[];
}

interface FoundReport {
  readonly found: boolean;
  readonly where: readonly string[];
}

export interface SecurityReport {
  /** True when loading would call something outside the frameworks' own names. */
  readonly isUnsafe: boolean;
  /** Every name a load would import, with how often. */
  readonly globals: readonly { readonly name: string; readonly count: number }[];
}
