import type { Retention } from '../checkpoint/store/retention.ts';
import type { Cadence } from '../domain/cadence.ts';
import type { NominalGrace } from '../domain/effective-grace.ts';
import type { Gang } from '../domain/gang.ts';
import type { HangRules } from '../domain/hang.ts';
import type { StageWish } from './staging/stage-folder.ts';
import type { OnHang } from './hang/watch.ts';
import type { MetadataWish } from './metadata/wish.ts';
import type { StatusAddress } from './status/address.ts';
import type { ShipSettings } from './shipping/settings.ts';

/** What a run is told, read and with its defaults filled in. */
export interface RunOptions {
  readonly command: readonly string[];
  /** The run's folder; made when it is not there. */
  readonly dir: string;
  readonly grace: NominalGrace;
  readonly cadence: Cadence;
  /** The cadence as it was asked for. */
  readonly cadenceText: string;
  /** How many errors in a row without progress the trainer may make and be started again. */
  readonly restarts: number;
  readonly resumeArgument: string | null;
  /** A file that may tell of notices. */
  readonly noticeFile: string | null;
  readonly retention: Retention | null;
  /** Where saves go first. */
  readonly stage: StageWish;
  readonly terminationLog: string | null;
  /** The nodes that run the trainer together over one folder; null: this one alone. */
  readonly gang: Gang | null;
  /** The metadata services that are asked for notices; null: none. */
  readonly metadata: MetadataWish;
  /** When the trainer is taken to hang; null: that is not looked for. */
  readonly hang: HangRules | null;
  readonly onHang: OnHang;
  /** Where the live status is served; null: nowhere. */
  readonly status: StatusAddress | null;
  /** Where copies of sealed checkpoints go; null: nowhere. */
  readonly ship: ShipSettings | null;
  /** The run's folder is where the trainer's framework saves by itself: what it finishes there is sealed. */
  readonly isWatched: boolean;
  readonly node: string;
  /** Of Holdfast. */
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}
