import { Worker } from 'node:worker_threads';
import { fencedError } from '../../checkpoint/store/attempt.ts';
import type { Clock } from '../../core/clock.ts';
import { formatDuration } from '../../core/duration.ts';
import { toError } from '../../core/errors.ts';
import type { HoldfastError } from '../../core/errors.ts';
import { RESERVE_MS } from '../../domain/flush-decision.ts';
import type { Book } from '../book.ts';
import { endThread } from '../end-thread.ts';
import type { Measurements } from '../measurements.ts';
import type { Notices } from '../notices.ts';
import { patience } from '../patience.ts';
import { SignsOfLife, SILENT_MS } from '../signs-of-life.ts';
import { recordAdopted } from './leftovers.ts';
import type { FromWatch, ToWatch, WatchWork } from './messages.ts';

export interface WatcherOptions {
  readonly work: WatchWork;
  readonly book: Book;
  readonly measured: Measurements;
  readonly clock: Clock;
  readonly onSafe: () => void;
  readonly onFenced: (error: HoldfastError) => void;
  /** The thread's program; a test may put another in its place. */
  readonly program?: URL;
}

const PROGRAM = new URL(`./worker.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);

const ONLY_ONE =
  'the trainer’s framework keeps one save only: from its deletion until the next one is sealed there is nothing to go back to. Let it keep two (save_total_limit=2, save_top_k=2, max_to_keep=2)';
const IN_PLACE =
  'the trainer’s framework writes its saves over each other: from the first byte until the new one is sealed there is nothing to go back to. Let it give each save a name of its own, and keep two';

/**
 * Seals what a trainer without the SDK saves by itself, from a thread of its own. The framework is master of its files: nothing here delays it, brings
 * back what it deleted, or keeps it from writing over what is sealed; what that means for the last good is told, once.
 */
export class Watcher {
  readonly #options: WatcherOptions;
  readonly #worker: Worker;
  readonly #finished: Promise<void>;
  readonly #told = new Set<string>();
  readonly #signs: SignsOfLife;
  #ended: Promise<boolean> | null = null;

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.#signs = new SignsOfLife(options.clock);
    const { work, program = PROGRAM } = options;
    this.#worker = new Worker(program, { workerData: work, resourceLimits: { maxOldGenerationSizeMb: 256 } });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#finished = promise;
    this.#worker.on('message', (message: FromWatch) => {
      this.#signs.note();
      if (message.type === 'finished') resolve();
      else if (message.type !== 'alive') this.#hear(message);
    });
    this.#worker.on('error', (thrown) => {
      const { message } = toError(thrown);
      this.#options.book.complain(new Error(`nothing that the trainer saves is sealed any more, training goes on: ${message}`));
      resolve();
    });
    this.#worker.once('exit', () => resolve());
    // The trainer's end is what the process waits for.
    this.#worker.unref();
  }

  /** The trainer and all it started have ended: what it saved last is sealed, as far as there is time; without a deadline, as long as the disk answers. */
  async finish(notices: Notices, isClean: boolean): Promise<void> {
    // Now the process waits for it.
    this.#worker.ref();
    const message: ToWatch = { type: 'finish', isClean };
    this.#worker.postMessage(message);
    const problem = await this.#untilFinished(notices);
    if (problem !== null) this.#options.book.warn(`what the trainer saved last is not sealed: ${problem}; the next start looks at it`);
    await this.stop(patience(notices, this.#options.clock));
  }

  /** Null, or why nobody waits any longer. */
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

  /** Ends the thread; false when it cannot be ended in time, because it waits for a disk that does not answer. */
  stop(patienceMs: number): Promise<boolean> {
    this.#ended ??= endThread(this.#worker, patienceMs, this.#options.clock);
    return this.#ended;
  }

  #hear(message: Exclude<FromWatch, { type: 'finished' | 'alive' }>): void {
    const { book, measured, clock, onSafe, onFenced, work } = this.#options;
    switch (message.type) {
      case 'sealed': {
        const { path, bytes, save, step, totalMs } = message;
        recordAdopted(book, { path, bytes, manifest: { save, step } }, totalMs, 'watch');
        measured.noteAdopted(step, clock.monotonic());
        onSafe();
        break;
      }
      case 'lost':
        measured.noteTaken(message.newest);
        book.say(`${message.names.join(', ')} was ${message.how} by the trainer; ${left(message.newest)}`);
        if (message.how === 'overwritten') this.#warnOnce(IN_PLACE);
        else if (message.newest === null) this.#warnOnce(ONLY_ONE);
        break;
      case 'note':
        book.warn(message.text);
        break;
      case 'failed':
        if (message.code === 'ATTEMPT_FENCED') onFenced(fencedError(work.attempt));
        else book.shout(`error ${message.code}: ${message.message}; training is not affected`);
        book.record({ kind: 'note', level: 'error', code: message.code, sentence: message.message });
        break;
    }
  }

  #warnOnce(text: string): void {
    if (this.#told.has(text)) return;
    this.#told.add(text);
    this.#options.book.warn(text);
  }
}

function left(newest: number | null): string {
  return newest === null ? 'nothing is sealed now' : `step ${newest} is the newest that is sealed`;
}
