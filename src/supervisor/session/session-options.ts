import type { Attempt } from '../../store/attempt/attempt.ts';
import type { OpenStore } from '../../store/folder/store.ts';
import type { HoldfastError } from '../../core/errors.ts';
import type { Resume } from '../base/resume.ts';
import type { RunLog } from '../base/run-log.ts';
import type { Sealer } from '../saves/sealing/sealer.ts';
import type { Stage } from '../saves/staging/stage.ts';
import type { SaveReason } from '../sdk/protocol.ts';
import type { RunOptions } from '../settings/run-options.ts';

/** The ranks that can be asked to save; false when none is attached. */
export interface Savers {
  ask(reason: SaveReason): boolean;
}

/** What the session of a trainer works with. */
export interface SessionOptions {
  readonly options: RunOptions;
  readonly store: OpenStore;
  readonly attempt: Attempt;
  readonly resume: Resume | null;
  readonly log: RunLog;
  readonly sealer: Sealer;
  /** Null: every save is written straight to its final place. */
  readonly stage: Stage | null;
  /** A private folder for the step counters of the ranks; null: there are none. */
  readonly counters: string | null;
  /** Called when a checkpoint was sealed. */
  readonly onSafe: () => void;
  /**
   * Called when workers have reported their first step: the first workers of the attempt, or
   * restarted ones.
   */
  readonly onFirstStep: (savers: Savers) => void;
  /** Called when a newer attempt has taken over: this one has to end. */
  readonly onFenced: (error: HoldfastError) => void;
  /** Called when the connection of a rank has ended. */
  readonly onLeft: () => void;
}
