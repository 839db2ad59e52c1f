import type { OpenStore } from '../../checkpoint/store/store.ts';
import type { Book } from '../book.ts';
import { judge } from '../hang/watch.ts';
import type { CurrentLife } from '../live-once.ts';
import type { Notices } from '../notices.ts';
import type { RunOptions } from '../options.ts';
import { judgeOverdue } from '../sealing/overdue.ts';
import { type LiveFacts, makeStatus, type Status } from './status.ts';
import { countEvent, FIRST_TOTALS, type Totals } from './totals.ts';

interface StatusWorld {
  readonly options: RunOptions;
  readonly store: OpenStore;
  readonly book: Book;
  readonly notices: Notices;
  readonly current: CurrentLife;
}

/** Knows the status of the run at any time: it counts what is written into the book, and looks at the rest when it is asked. */
export class LiveStatus {
  readonly #world: StatusWorld;
  #totals: Totals = FIRST_TOTALS;

  constructor(world: StatusWorld) {
    this.#world = world;
    world.book.listen((event) => (this.#totals = countEvent(this.#totals, event)));
  }

  now(): Status {
    const { options, store, book, notices } = this.#world;
    return makeStatus({
      run: store.run,
      node: book.node,
      version: options.version,
      nowMs: store.clock.now(),
      attempt: book.attempt,
      totals: this.#totals,
      notices: notices.all,
      deadline: notices.deadline,
      live: this.#live(),
    });
  }

  #live(): LiveFacts | null {
    const { current, store, options } = this.#world;
    const { life, trainer } = current;
    if (life === null || trainer === null) return null;
    const { measured, ranks, desk } = life;
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
      unsavedMs: life.isUnknown ? null : measured.unsavedMs(nowMs),
      unsavedSteps: measured.lostSteps,
      savePhase: desk.phase,
      seal: judgeOverdue(life, store.clock),
      // Nobody knows when a busy trainer makes its next step.
      flush: measured.busyMs(nowMs) === null ? [measured.stepRest, measured.write, measured.seal] : [null, null, null],
      predictions: measured.predictionError,
      hang: options.hang === null ? null : judge({ life, rules: options.hang, clock: store.clock }),
    };
  }
}
