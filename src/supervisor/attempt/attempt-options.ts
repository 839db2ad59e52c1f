import type { OpenStore } from '../../store/folder/store.ts';
import type { RunEnd } from '../../domain/exit/exit-contract.ts';
import type { RunLog } from '../base/run-log.ts';
import type { Notices } from '../notices/notices.ts';
import type { Sealer } from '../saves/sealing/sealer.ts';
import type { Stage } from '../saves/staging/stage.ts';
import type { Savers } from '../session/session-options.ts';
import type { TrainerSession } from '../session/trainer-session.ts';
import type { RunOptions } from '../settings/run-options.ts';
import type { Shipping } from '../shipping/shipping.ts';
import type { Trainer } from '../process/trainer.ts';

/**
 * The session and trainer of the current attempt, for parts of the process that outlive an attempt.
 */
export interface CurrentSession {
  session: TrainerSession | null;
  trainer: Trainer | null;
}

/** What an attempt is run with. */
export interface AttemptOptions {
  readonly options: RunOptions;
  readonly store: OpenStore;
  readonly log: RunLog;
  readonly notices: Notices;
  readonly current: CurrentSession;
  readonly sealer: Sealer;
  readonly stage: Stage | null;
  readonly shipping: Shipping | null;
  /** Called whenever a trainer has started. */
  readonly onStarted: () => void;
  /** Called whenever a checkpoint was sealed. */
  readonly onSafe: () => void;
  /** Called whenever workers have made their first step. */
  readonly onFirstStep: (savers: Savers) => void;
  /**
   * Called when the process cannot end by itself, because a thread waits for a disk that does not
   * answer.
   */
  readonly cannotEnd: () => void;
  readonly gang: string;
  /** The number of earlier attempts of this process. */
  readonly restart: number;
  /**
   * Returns true if another attempt would follow, should this one fail now with the given last good
   * step.
   */
  readonly mayRestart: (lastGoodStep: number | null) => boolean;
}

/** How an attempt ended, as the exit code and the restart budget use it. */
export interface AttemptEnd extends RunEnd {
  readonly lastGoodStep: number | null;
}
