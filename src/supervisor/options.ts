import type { Retention } from '../checkpoint/store/retention.ts';
import type { Cadence } from '../domain/cadence.ts';
import type { NominalGrace } from '../domain/effective-grace.ts';
import type { StageWish } from './staging/stage-folder.ts';

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
  readonly node: string;
  /** Of Holdfast. */
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}
