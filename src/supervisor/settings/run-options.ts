import type { Retention } from '../../store/retention/retention.ts';
import type { Cadence } from '../../domain/cadence/cadence.ts';
import type { NominalGrace } from '../../domain/grace/effective-grace.ts';
import type { Gang } from '../../domain/restart/gang.ts';
import type { Trial } from '../../domain/sweep/grid.ts';
import type { HangRules } from '../../domain/hang/hang.ts';
import type { MetadataWish } from './metadata-wish.ts';
import type { StatusAddress } from './status-address.ts';
import type { ShipSettings } from './ship-settings.ts';

/** Where saves go first: a named folder in memory, one that Holdfast finds, or none. */
export type StageWish =
  | { readonly kind: 'auto' }
  | { readonly kind: 'off' }
  | { readonly kind: 'folder'; readonly path: string; readonly from: 'option' | 'environment' };

/** What the supervisor does about a hang, besides reporting it. */
export type OnHang = 'report' | 'restart';

/** The options of a run, parsed and with their defaults filled in. */
export interface RunOptions {
  readonly command: readonly string[];
  /** The run's folder; made when it is missing. */
  readonly dir: string;
  readonly grace: NominalGrace;
  readonly cadence: Cadence;
  /** The cadence as the user asked for it. */
  readonly cadenceText: string;
  /** How many errors in a row without progress the supervisor answers with a restart. */
  readonly restarts: number;
  readonly resumeArgument: string | null;
  /** Trains on when the run is already finished. */
  readonly trainsAgain: boolean;
  /** A file that may contain notices. */
  readonly noticeFile: string | null;
  readonly retention: Retention | null;
  /** Where saves go first. */
  readonly stage: StageWish;
  readonly terminationLog: string | null;
  /** The nodes that run the trainer together over one folder; null: this one alone. */
  readonly gang: Gang | null;
  /** The metadata services to ask for notices; null: none. */
  readonly metadata: MetadataWish;
  /** When the supervisor takes the trainer to hang; null: it does not look for hangs. */
  readonly hang: HangRules | null;
  readonly onHang: OnHang;
  /** Where the live status is served; null: nowhere. */
  readonly status: StatusAddress | null;
  /** Where copies of sealed checkpoints go; null: nowhere. */
  readonly ship: ShipSettings | null;
  /**
   * The trainer's framework saves into the run's folder by itself, and Holdfast seals each
   * checkpoint that it finishes there.
   */
  readonly isWatched: boolean;
  /** The trial of a sweep that this run is; null: it is in none. */
  readonly trial: Trial | null;
  /** When a CronJob was to start the run; null: none did, or the time is unknown. */
  readonly scheduledAtMs: number | null;
  readonly node: string;
  /** The version of Holdfast. */
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}
