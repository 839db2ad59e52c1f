import type { Capabilities } from './capabilities.ts';
import type { CommitRule } from './commit-rule.ts';
import type { EvictionLine } from './eviction-line.ts';
import type { PowerLoss, RenameRule } from './file-systems.ts';
import type { Place } from './place.ts';
import type { EphemeralStorage, Room } from './space.ts';
import type { StorageWarning } from './warnings.ts';

/** The schema of the JSON of `holdfast probe`. */
export const PROBE_SCHEMA = 'holdfast.probe/1';

/** The result of `holdfast probe`; `docs/reference/probe-json.md` explains every field. */
export interface ProbeReport {
  readonly schema: typeof PROBE_SCHEMA;
  /** As the user gave it. */
  readonly path: string;
  readonly folder: string;
  readonly fileSystem: {
    readonly id: string;
    readonly title: string;
    readonly type: string | null;
    readonly source: string | null;
    readonly mountPoint: string | null;
    readonly magic: string;
    readonly isReadOnly: boolean;
    readonly powerLoss: PowerLoss;
    readonly note: string;
  };
  readonly place: Pick<Place, 'id' | 'title' | 'survivesPod' | 'why'>;
  readonly commit: CommitRule & { readonly rename: RenameRule };
  /** Null without attempts. */
  readonly capabilities: Capabilities | null;
  readonly space: SpaceReport;
  readonly bandwidth: BandwidthReport | null;
  readonly syncLatency: LatencyReport | null;
  readonly notMeasured: string | null;
  readonly warnings: readonly StorageWarning[];
}

/** The room on a volume, in the report of probe. */
export interface SpaceReport {
  readonly isReal: boolean;
  readonly totalBytes: number;
  readonly availableBytes: number;
  readonly reservedBytes: number;
  readonly totalInodes: number;
  readonly freeInodes: number;
  readonly evictionLine: EvictionLine | null;
  readonly ephemeral: EphemeralStorage | null;
  readonly usableBytes: number;
  readonly usableFiles: number | null;
  readonly limitedBy: Room['limitedBy'];
}

/** The speed of a volume, in the report of probe. */
export interface BandwidthReport {
  readonly bytesPerRound: number;
  /** Bytes per second of each round, in order. */
  readonly rounds: readonly number[];
  readonly medianBytesPerSecond: number;
  readonly lowBytesPerSecond: number;
}

/** The latency of syncs, in the report of probe. */
export interface LatencyReport {
  readonly samples: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}
