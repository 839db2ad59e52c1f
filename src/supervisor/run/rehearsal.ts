import type { OpenStore } from '../../store/folder/store.ts';
import type { RunOptions } from '../settings/run-options.ts';
import { decideFlush } from '../../domain/grace/flush-decision.ts';
import { RunLog } from '../base/run-log.ts';
import { announce, flushFacts, noticeSentence, stagedSave } from '../ending/ending.ts';
import { leaveProvisional } from '../attempt/end-report.ts';
import type { TrainerSession } from '../session/trainer-session.ts';
import { Notices } from '../notices/notices.ts';

/** What a rehearsal works with. */
export interface RehearsalWorld {
  readonly store: OpenStore;
  readonly options: Pick<RunOptions, 'grace' | 'hang'>;
  readonly notices: Pick<Notices, 'first'>;
  readonly log: RunLog;
  readonly current: { readonly session: TrainerSession | null };
}

/** After this many plays the runtime has compiled every function with its real argument types. */
const TIMES = 5;
/**
 * The least time between two rehearsals: saves may come every second, and compiled code outlasts a
 * minute.
 */
const LEAST_PAUSE_MS = 60_000;
const NOWHERE = '/dev/null';
const NO_ATTEMPT = { attempt: 0, gang: '' };
const NO_SURROUNDING = { node: null, pressure: [], limits: [] } as const;

/**
 * Plays the steps after a notice, from the signal to the decision, without effect. The first run of
 * any code takes several times as long. The runtime compiles functions at their first call, and
 * drops those that were idle for a while. The supervisor reads the history of attempts when it
 * first needs it. A notice comes once and has no time for that.
 *
 * A rehearsal records, prints and starts nothing, and does not touch work in progress.
 */
export class Rehearsal {
  readonly #world: RehearsalWorld;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(world: RehearsalWorld) {
    this.#world = world;
  }

  /** Plays when the event loop is idle, unless the last rehearsal was a moment ago. */
  soon(): void {
    const now = this.#world.store.clock.monotonic();
    if (now - this.#lastMs < LEAST_PAUSE_MS) return;
    this.#lastMs = now;
    setImmediate(() => this.play());
  }

  play(): void {
    const { current, notices, log } = this.#world;
    if (current.session === null || notices.first !== null) return;
    try {
      for (let time = 0; time < TIMES; time++) this.#playOnce(current.session);
    } catch (thrown) {
      // The real notice would meet the same error.
      log.complain(thrown);
    }
  }

  #playOnce(session: TrainerSession): void {
    const { store, options, log: real } = this.#world;
    const { clock } = store;
    const log = new RunLog({ dir: store.path, node: real.node, clock, terminationLog: NOWHERE, say: nobody, shout: nobody });
    const listener = { onNotice: (notice: Parameters<typeof noticeSentence>[0]) => log.say(noticeSentence(notice)), onWithdrawn: nobody };
    const notices = new Notices(clock, options.grace, listener, () => NO_SURROUNDING);
    notices.hear('SIGTERM');
    leaveProvisional({ store, attempt: NO_ATTEMPT, log, session, notices });
    const deciding = { store, log, session, notices, rules: options.hang, isOneOfMany: false };
    announce(deciding);
    decideFlush({ ...flushFacts(deciding), staged: stagedSave(session) });
  }
}

function nobody(): void {}
