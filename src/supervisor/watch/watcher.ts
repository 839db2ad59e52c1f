import { Worker } from 'node:worker_threads';
import { fencedError } from '../../checkpoint/store/attempt.ts';
import { toError } from '../../core/errors.ts';
import type { HoldfastError } from '../../core/errors.ts';
import { RESERVE_MS } from '../../domain/flush-decision.ts';
import type { Book } from '../book.ts';
import type { Measurements } from '../measurements.ts';
import type { Notices } from '../notices.ts';
import { recordAdopted } from './leftovers.ts';
import type { FromWatch, ToWatch, WatchWork } from './messages.ts';

export interface WatcherOptions {
  readonly work: WatchWork;
  readonly book: Book;
  readonly measured: Measurements;
  /** Of the monotonic clock. */
  readonly now: () => number;
  readonly onSafe: () => void;
  readonly onFenced: (error: HoldfastError) => void;
}

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

  constructor(options: WatcherOptions) {
    this.#options = options;
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    this.#worker = new Worker(new URL(`./worker.${extension}`, import.meta.url), {
      workerData: options.work,
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#finished = promise;
    this.#worker.on('message', (message: FromWatch) => (message.type === 'finished' ? resolve() : this.#hear(message)));
    this.#worker.on('error', (thrown) => {
      const { message } = toError(thrown);
      this.#options.book.complain(new Error(`nothing that the trainer saves is sealed any more, training goes on: ${message}`));
      resolve();
    });
    this.#worker.once('exit', () => resolve());
    // The trainer's end is what the process waits for.
    this.#worker.unref();
  }

  /** The trainer and all it started have ended: what it saved last is sealed, as far as there is time. */
  async finish(notices: Notices, isClean: boolean): Promise<void> {
    // Now the process waits for it.
    this.#worker.ref();
    const over = new AbortController();
    const message: ToWatch = { type: 'finish', isClean };
    this.#worker.postMessage(message);
    const isLate = await Promise.race([
      this.#finished.then(() => false),
      notices.untilDeadline(RESERVE_MS / 2, over.signal).then(
        () => true,
        () => false,
      ),
    ]);
    over.abort();
    if (isLate) this.#options.book.warn('there was no time left to seal what the trainer saved last; the next start looks at it');
    await this.stop();
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }

  #hear(message: Exclude<FromWatch, { type: 'finished' }>): void {
    const { book, measured, now, onSafe, onFenced, work } = this.#options;
    switch (message.type) {
      case 'sealed': {
        const { path, bytes, save, step, totalMs } = message;
        recordAdopted(book, { path, bytes, manifest: { save, step } }, totalMs, 'watch');
        measured.noteAdopted(step, now());
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
