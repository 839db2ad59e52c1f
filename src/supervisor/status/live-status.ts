import type { OpenStore } from '../../store/folder/store.ts';
import type { RunLog } from '../base/run-log.ts';
import { judge } from '../hang/watch-progress.ts';
import type { CurrentSession } from '../attempt/attempt-options.ts';
import type { Notices } from '../notices/notices.ts';
import type { RunOptions } from '../settings/run-options.ts';
import { judgeOverdue } from '../session/judge-overdue.ts';
import { type LiveFacts, makeStatus, type Status } from './status.ts';
import { countEvent, FIRST_TOTALS, type Totals } from './totals.ts';

interface StatusWorld {
  readonly options: RunOptions;
  readonly store: OpenStore;
  readonly log: RunLog;
  readonly notices: Notices;
  readonly current: CurrentSession;
}

/**
 * The live status of the run: it counts events as they are recorded, and reads the rest on request.
 */
export class LiveStatus {
  readonly #world: StatusWorld;
  #totals: Totals = FIRST_TOTALS;

  constructor(world: StatusWorld) {
    this.#world = world;
    world.log.listen((event) => (this.#totals = countEvent(this.#totals, event)));
  }

  now(): Status {
    const { options, store, log, notices } = this.#world;
    return makeStatus({
      run: store.run,
      node: log.node,
      version: options.version,
      nowMs: store.clock.now(),
      attempt: log.attempt,
      totals: this.#totals,
      notices: notices.all,
      deadline: notices.deadline,
      live: this.#live(),
      trial: options.trial,
      scheduledAtMs: options.scheduledAtMs,
    });
  }

  #live(): LiveFacts | null {
    const { current, store, options } = this.#world;
    const { session, trainer } = current;
    if (session === null || trainer === null) return null;
    const { measured, ranks, coordinator } = session;
    const nowMs = store.clock.monotonic();
    return {
      pid: trainer.pid,
      ranks: ranks.count,
      worldSize: ranks.all[0]?.world ?? null,
      step: measured.step,
      stepMs: measured.stepMs,
      stepsPerSecond: measured.stepsPerSecond,
      lastGoodStep: measured.lastGoodStep,
      lastGoodAgeMs: measured.lastGoodAgeMs(nowMs),
      unsavedMs: session.isUnknown ? null : measured.unsavedMs(nowMs),
      unsavedSteps: measured.lostSteps,
      savePhase: coordinator.phase,
      savesOnRequest: session.savesOnRequest,
      seal: judgeOverdue(session, store.clock),
      // The next step of a busy trainer cannot be predicted.
      flush: measured.busyMs(nowMs) === null ? [measured.stepRest, measured.write, measured.seal] : [null, null, null],
      predictions: measured.predictionError,
      hang: options.hang === null ? null : judge({ session, rules: options.hang, clock: store.clock }),
    };
  }
}
