import { Worker } from 'node:worker_threads';
import type { Clock } from '../../core/clock.ts';
import { HoldfastError } from '../../core/errors.ts';
import { bounded } from '../bounded.ts';
import { closeGate, makeCommitGate } from './commit-gate.ts';
import { type FromThread, type SealedSave, type ToThread, unpackFailure, type Work } from './messages.ts';

export interface SealerOptions {
  /** The run's folder. */
  readonly dir: string;
  readonly clock: Clock;
  /** The thread's program; a test may put another in its place. */
  readonly program?: URL;
}

export interface AskOptions {
  readonly signal: AbortSignal;
  readonly onBytes?: (done: number, total: number) => void;
}

/** A thread without work goes after this: it holds memory that a trainer may want. */
const REST_MS = 10_000;
/** How long a thread may take to end. */
const END_MS = 2000;
/** The lists of a checkpoint with very many files. */
const MOST_HEAP_MB = 512;

const PROGRAM = new URL(`./worker.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);

interface Asked extends AskOptions {
  readonly id: number;
  readonly resolve: (sealed: SealedSave | null) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Seals and prunes on a thread of its own: a sync of many gigabytes takes seconds in which this thread hears signals and answers the trainer.
 * One work at a time. When the thread dies its work is lost, and the next one gets a new thread.
 */
export class Sealer {
  readonly #options: SealerOptions;
  #worker: Worker | null = null;
  #asked: Asked | null = null;
  /** The work that was given up and that its thread has not answered yet; null: none. */
  #owed: { readonly id: number; readonly worker: Worker | null } | null = null;
  /** Threads that were told to end and have not yet. */
  readonly #ending = new Set<Worker>();
  #count = 0;
  #resting: AbortController | null = null;

  constructor(options: SealerOptions) {
    this.#options = options;
  }

  /** Starts the thread, so that it is there when it is needed soon. */
  warm(): void {
    this.#worker ??= this.#start();
    if (this.#asked === null) this.#rest();
  }

  async seal(work: Work & { readonly kind: 'seal' | 'seal-together' }, options: AskOptions): Promise<SealedSave> {
    const sealed = await this.#ask(work, options);
    if (sealed === null) throw threadGone('it answered something else');
    return sealed;
  }

  async prune(work: Work & { readonly kind: 'prune' }, options: AskOptions): Promise<void> {
    await this.#ask(work, options);
  }

  /** True while the thread owes an answer to what was given up: it waits for its disk. */
  get isStuck(): boolean {
    return this.#owed !== null;
  }

  /** Ends the thread, whatever it does; false when one cannot be ended in time, because it waits in the kernel for a disk that does not answer. */
  async close(patienceMs = END_MS): Promise<boolean> {
    this.#resting?.abort();
    const worker = this.#worker;
    this.#worker = null;
    this.#asked?.reject(threadGone('it was ended'));
    if (worker !== null) this.#ending.add(worker);
    await bounded(Promise.all([...this.#ending].map((one) => one.terminate())), patienceMs, this.#options.clock);
    return this.#ending.size === 0;
  }

  async #ask(work: Work, { signal, onBytes }: AskOptions): Promise<SealedSave | null> {
    signal.throwIfAborted();
    this.warm();
    const [id, gate] = [++this.#count, makeCommitGate()];
    const stop = (): void => {
      this.#send({ type: 'stop', id });
      // A save that will surely not be committed keeps nobody waiting; one that is being committed tells in a moment what became of it.
      if (work.kind !== 'seal' || !closeGate(gate)) return;
      this.#owed = { id, worker: this.#worker };
      this.#asked?.reject(threadGone('it was given up'));
    };
    signal.addEventListener('abort', stop, { once: true });
    this.#worker?.ref();
    try {
      return await new Promise((resolve, reject) => {
        this.#resting?.abort();
        this.#asked = { id, signal, resolve, reject, ...(onBytes === undefined ? {} : { onBytes }) };
        this.#send({ type: 'work', id, work, gate });
      });
    } catch (thrown) {
      // Whoever gave it up knows better why.
      signal.throwIfAborted();
      throw thrown;
    } finally {
      signal.removeEventListener('abort', stop);
      this.#asked = null;
      this.#rest();
    }
  }

  #send(message: ToThread): void {
    this.#worker?.postMessage(message);
  }

  #start(): Worker {
    const { dir, program = PROGRAM } = this.#options;
    const worker = new Worker(program, { workerData: { dir }, resourceLimits: { maxOldGenerationSizeMb: MOST_HEAP_MB } });
    let problem = 'it ended';
    worker.unref();
    worker.on('message', (message: FromThread) => this.#take(message));
    worker.on('error', (error: Error) => (problem = error.message));
    worker.on('exit', () => {
      this.#ending.delete(worker);
      if (this.#owed?.worker === worker) this.#owed = null;
      if (this.#worker !== worker) return;
      this.#worker = null;
      this.#asked?.reject(threadGone(problem));
    });
    return worker;
  }

  #take(message: FromThread): void {
    if (message.id === this.#owed?.id && message.type !== 'bytes') this.#owed = null;
    if (message.id !== this.#asked?.id) return;
    if (message.type === 'bytes') this.#asked.onBytes?.(message.done, message.total);
    else if (message.type === 'done') this.#asked.resolve(message.sealed);
    else this.#asked.reject(unpackFailure(message.failure));
  }

  #rest(): void {
    if (this.#worker === null) return;
    this.#worker.unref();
    this.#resting?.abort();
    const resting = new AbortController();
    this.#resting = resting;
    this.#options.clock.sleep(REST_MS, { signal: resting.signal }).then(
      () => this.close(),
      () => {},
    );
  }
}

function threadGone(problem: string): HoldfastError {
  return new HoldfastError('SAVE_INCOMPLETE', {
    message: `the thread that seals is gone: ${problem}`,
    hint: 'Every earlier checkpoint is as it was. The next save gets a new thread.',
  });
}
