import { fencedError } from '../../store/attempt/attempt.ts';
import type { Clock } from '../../core/clock.ts';
import { formatDuration } from '../../core/duration.ts';
import type { HoldfastError } from '../../core/errors.ts';
import { threadProgram, WorkerThread } from '../../core/worker-thread.ts';
import { RESERVE_MS } from '../../domain/grace/flush-decision.ts';
import type { RunLog } from '../base/run-log.ts';
import type { Measurements } from '../session/measurements.ts';
import type { Notices } from '../notices/notices.ts';
import { shutdownTimeout } from '../notices/shutdown-timeout.ts';
import { StallTimer, SILENT_MS } from '../base/stall-timer.ts';
import { recordAdopted } from './prepare-folder.ts';
import type { FromWatch, NewestSave, ToWatch, WatchWork } from './watch-messages.ts';

/** What the watcher works with. */
export interface WatcherOptions {
  readonly work: WatchWork;
  readonly log: RunLog;
  readonly measured: Measurements;
  readonly clock: Clock;
  readonly onSafe: () => void;
  readonly onFenced: (error: HoldfastError) => void;
  /** The thread's program; a test may pass another one. */
  readonly program?: URL;
}

const PROGRAM = threadProgram('watch-worker', import.meta.url);

const ONLY_ONE =
  'the trainer’s framework keeps only one save: from its deletion until the next seal, there is no checkpoint. Let it keep two (save_total_limit=2, save_top_k=2, max_to_keep=2)';
const IN_PLACE =
  'the trainer’s framework overwrites its own saves: from the first byte until the next seal, there is no checkpoint. Let it give each save a name of its own, and keep two';

/**
 * Seals the saves of a trainer without the SDK, from a thread of its own. The framework owns its
 * files. The watcher never delays it, restores a deleted save, or stops it from overwriting a
 * sealed one. It reports once what each loss means for the last good checkpoint.
 */
export class Watcher {
  readonly #options: WatcherOptions;
  readonly #thread: WorkerThread<ToWatch, FromWatch>;
  readonly #finished: Promise<void>;
  readonly #told = new Set<string>();
  readonly #signs: StallTimer;
  #ended: Promise<boolean> | null = null;

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.#signs = new StallTimer(options.clock);
    const { work, program = PROGRAM } = options;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#finished = promise;
    this.#thread = new WorkerThread(program, {
      data: work,
      heapMb: 256,
      onMessage: (message) => {
        this.#signs.note();
        if (message.type === 'finished') resolve();
        else if (message.type !== 'alive') this.#hear(message);
      },
      onExit: (problem) => {
        if (problem !== null) {
          const text = `the trainer’s saves are no longer sealed, but training continues: ${problem.message}`;
          this.#options.log.complain(new Error(text, { cause: problem }));
        }
        resolve();
      },
    });
  }

  /**
   * Call this when the trainer and all processes that it started have ended. It seals the trainer's
   * last save until the deadline; without a deadline, for as long as the disk answers.
   */
  async finish(notices: Notices, isClean: boolean): Promise<void> {
    // From here on the process waits for the thread.
    this.#thread.hold();
    this.#thread.send({ type: 'finish', isClean });
    const problem = await this.#untilFinished(notices);
    if (problem !== null) this.#options.log.warn(`the last save of the trainer is not sealed: ${problem}; the next start checks it`);
    await this.stop(shutdownTimeout(notices, this.#options.clock));
  }

  /** Null, or the reason why the supervisor stops waiting. */
  async #untilFinished(notices: Notices): Promise<string | null> {
    this.#signs.note();
    const over = new AbortController();
    const orOver = (bound: Promise<void>, problem: string): Promise<string | null> =>
      bound.then(
        () => problem,
        () => null,
      );
    try {
      return await Promise.race([
        this.#finished.then(() => null),
        orOver(notices.untilDeadline(RESERVE_MS / 2, over.signal), 'there was no time left'),
        orOver(this.#signs.untilSilent(over.signal), `the disk has not answered for ${formatDuration(SILENT_MS)}`),
      ]);
    } finally {
      over.abort();
    }
  }

  /**
   * Ends the thread; false when it does not end in time because it waits for a disk that does not
   * answer.
   */
  stop(patienceMs: number): Promise<boolean> {
    this.#ended ??= this.#thread.end(patienceMs, this.#options.clock);
    return this.#ended;
  }

  #hear(message: Exclude<FromWatch, { type: 'finished' | 'alive' }>): void {
    const { log, measured, clock, onSafe, onFenced, work } = this.#options;
    switch (message.type) {
      case 'sealed': {
        const { path, bytes, save, step, totalMs } = message;
        recordAdopted(log, { path, bytes, manifest: { save, step } }, totalMs, 'watch');
        measured.noteNewest(asMonotonic(message.newest, clock));
        onSafe();
        break;
      }
      case 'lost':
        measured.noteNewest(asMonotonic(message.newest, clock));
        log.say(`${message.names.join(', ')} was ${message.how} by the trainer; ${left(message.newest)}`);
        if (message.how === 'overwritten') this.#warnOnce(IN_PLACE);
        else if (message.newest === null) this.#warnOnce(ONLY_ONE);
        break;
      case 'note':
        log.warn(message.text);
        break;
      case 'failed':
        if (message.code === 'ATTEMPT_FENCED') onFenced(fencedError(work.attempt));
        else log.shout(`error ${message.code}: ${message.message}; training is not affected`);
        log.record({ kind: 'note', level: 'error', code: message.code, sentence: message.message });
        break;
    }
  }

  #warnOnce(text: string): void {
    if (this.#told.has(text)) return;
    this.#told.add(text);
    this.#options.log.warn(text);
  }
}

function asMonotonic(newest: NewestSave | null, clock: Clock): Parameters<Measurements['noteNewest']>[0] {
  if (newest === null) return null;
  return { step: newest.step, sinceMs: newest.ageMs === null ? null : clock.monotonic() - newest.ageMs };
}

function left(newest: NewestSave | null): string {
  return newest === null ? 'nothing is sealed now' : `step ${newest.step} is the newest that is sealed`;
}
