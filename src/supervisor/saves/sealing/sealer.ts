import type { Clock } from '../../../core/clock.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { threadProgram, WorkerThread } from '../../../core/worker-thread.ts';
import { bounded } from '../../../core/bounded.ts';
import { closeGate, makeCommitGate } from './commit-gate.ts';
import { type FromThread, type SealedSave, type ToThread, unpackFailure, type Work } from './seal-messages.ts';

/** What the sealer works with. */
export interface SealerOptions {
  /** The run's folder. */
  readonly dir: string;
  readonly clock: Clock;
  /** The thread's program; a test may pass another one. */
  readonly program?: URL;
}

/** How one request to the thread can be given up and followed. */
export interface AskOptions {
  readonly signal: AbortSignal;
  readonly onBytes?: (done: number, total: number) => void;
}

/** A thread without work ends after this time, because it holds memory that a trainer may need. */
const REST_MS = 10_000;
/** How long a thread may take to end. */
const END_MS = 2000;
/** Room for the file lists of a checkpoint with very many files. */
const MOST_HEAP_MB = 512;

const PROGRAM = threadProgram('seal-worker', import.meta.url);

type SealThread = WorkerThread<ToThread, FromThread>;

interface Asked extends AskOptions {
  readonly id: number;
  readonly resolve: (sealed: SealedSave | null) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Seals and prunes on a thread of its own, one work order at a time. A sync of many gigabytes takes
 * seconds, in which the main thread handles signals and answers the trainer. When the thread dies
 * its work fails, and the next work order starts a new thread.
 */
export class Sealer {
  readonly #options: SealerOptions;
  #thread: SealThread | null = null;
  #asked: Asked | null = null;
  /** The abandoned work order that its thread has not answered yet; null: none. */
  #owed: { readonly id: number; readonly thread: SealThread | null } | null = null;
  /** Threads that were terminated and have not ended yet. */
  readonly #ending = new Set<SealThread>();
  #count = 0;
  #resting: AbortController | null = null;

  constructor(options: SealerOptions) {
    this.#options = options;
  }

  /** Starts the thread early, so that it is ready when it is needed. */
  warm(): void {
    this.#thread ??= this.#start();
    if (this.#asked === null) this.#rest();
  }

  async seal(work: Work & { readonly kind: 'seal' | 'seal-together' }, options: AskOptions): Promise<SealedSave> {
    const sealed = await this.#ask(work, options);
    if (sealed === null) throw threadGone('it gave an unexpected answer');
    return sealed;
  }

  async prune(work: Work & { readonly kind: 'prune' }, options: AskOptions): Promise<void> {
    await this.#ask(work, options);
  }

  /**
   * True while the thread has not answered an abandoned work order, because it waits for its disk.
   */
  get isStuck(): boolean {
    return this.#owed !== null;
  }

  /**
   * Ends the thread, whatever it does. Returns false when it does not end in time, because it waits
   * in the kernel for a disk that does not answer.
   */
  async close(patienceMs = END_MS): Promise<boolean> {
    this.#resting?.abort();
    const thread = this.#thread;
    this.#thread = null;
    this.#asked?.reject(threadGone('it was ended'));
    if (thread !== null) this.#ending.add(thread);
    await bounded(Promise.all([...this.#ending].map((one) => one.terminate())), patienceMs, this.#options.clock);
    return this.#ending.size === 0;
  }

  async #ask(work: Work, { signal, onBytes }: AskOptions): Promise<SealedSave | null> {
    signal.throwIfAborted();
    this.warm();
    const [id, gate] = [++this.#count, makeCommitGate()];
    const stop = (): void => {
      this.#send({ type: 'stop', id });
      // An abandoned save fails at once if it was not being committed; a commit under way reports
      // its result in a moment.
      if (work.kind !== 'seal' || !closeGate(gate)) return;
      this.#owed = { id, thread: this.#thread };
      this.#asked?.reject(threadGone('it was abandoned'));
    };
    signal.addEventListener('abort', stop, { once: true });
    this.#thread?.hold();
    try {
      return await new Promise((resolve, reject) => {
        this.#resting?.abort();
        this.#asked = { id, signal, resolve, reject, ...(onBytes === undefined ? {} : { onBytes }) };
        this.#send({ type: 'work', id, work, gate });
      });
    } catch (thrown) {
      // The caller that abandoned the save already knows the reason.
      signal.throwIfAborted();
      throw thrown;
    } finally {
      signal.removeEventListener('abort', stop);
      this.#asked = null;
      this.#rest();
    }
  }

  #send(message: ToThread): void {
    this.#thread?.send(message);
  }

  #start(): SealThread {
    const { dir, program = PROGRAM } = this.#options;
    const thread: SealThread = new WorkerThread(program, {
      data: { dir },
      heapMb: MOST_HEAP_MB,
      onMessage: (message) => this.#take(message),
      onExit: (problem) => {
        this.#ending.delete(thread);
        if (this.#owed?.thread === thread) this.#owed = null;
        if (this.#thread !== thread) return;
        this.#thread = null;
        this.#asked?.reject(threadGone(problem?.message ?? 'it ended'));
      },
    });
    return thread;
  }

  #take(message: FromThread): void {
    if (message.id === this.#owed?.id && message.type !== 'bytes') this.#owed = null;
    if (message.id !== this.#asked?.id) return;
    if (message.type === 'bytes') this.#asked.onBytes?.(message.done, message.total);
    else if (message.type === 'done') this.#asked.resolve(message.sealed);
    else this.#asked.reject(unpackFailure(message.failure));
  }

  #rest(): void {
    if (this.#thread === null) return;
    this.#thread.letGo();
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
    message: `the sealing thread has ended: ${problem}`,
    hint: 'Earlier checkpoints are unchanged. The next save gets a new thread.',
  });
}
