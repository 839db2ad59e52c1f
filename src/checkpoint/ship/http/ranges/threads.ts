import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { HoldfastError } from '../../../../core/errors.ts';
import type { RawOptions } from '../raw-get.ts';
import type { FromThread, RangeRequest, SystemFailure, ToThread } from './messages.ts';

/** More of them would have nothing to do before the network is full. */
const MOST_THREADS = 8;
/** So many are soon busy, however little there is to fetch. */
const WARM_THREADS = 2;

const PROGRAM = new URL(`./worker.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);

export interface RangeOptions extends RawOptions {
  readonly onBytes: (bytes: number) => void;
}

/**
 * Large answers, received on threads of their own, as many as there are processors: what comes from a fast store, through a cipher, is more than
 * one can take, sum up and write. Started when they are needed.
 */
export class RangeThreads {
  readonly #ca: readonly string[] | null;
  readonly #most: number;
  readonly #threads = new Set<RangeThread>();

  constructor(ca: readonly string[] | null, most = Math.min(availableParallelism(), MOST_THREADS)) {
    this.#ca = ca;
    this.#most = most;
  }

  /** The checksums of the parts that were written; null when the answer is not the plain one that was expected, and nothing was. */
  async get(request: RangeRequest, options: RangeOptions): Promise<readonly string[] | null> {
    return (await this.#idlest()?.get(request, options)) ?? null;
  }

  /** Some are started now: they are needed soon. */
  warm(): void {
    for (let count = this.#threads.size; count < Math.min(WARM_THREADS, this.#most); count++) this.#start();
  }

  close(): void {
    for (const thread of this.#threads) thread.close();
    this.#threads.clear();
  }

  #idlest(): RangeThread | null {
    const [idlest] = [...this.#threads].sort((a, b) => a.busy - b.busy);
    if (idlest !== undefined && (idlest.busy === 0 || this.#threads.size >= this.#most)) return idlest;
    return this.#start() ?? idlest ?? null;
  }

  /** Null where there can be no more threads. */
  #start(): RangeThread | null {
    try {
      const thread: RangeThread = new RangeThread(this.#ca, () => this.#threads.delete(thread));
      this.#threads.add(thread);
      return thread;
    } catch {
      return null;
    }
  }
}

function asError({ code, errno, message }: SystemFailure): Error {
  return Object.assign(new Error(message), code === null ? {} : { code }, errno === null ? {} : { errno });
}

interface Asked {
  readonly onBytes: (bytes: number) => void;
  readonly resolve: (sums: readonly string[] | null) => void;
  readonly reject: (error: Error) => void;
}

class RangeThread {
  readonly #worker: Worker;
  readonly #asked = new Map<number, Asked>();
  #count = 0;

  constructor(ca: readonly string[] | null, onEnd: () => void) {
    this.#worker = new Worker(PROGRAM, { workerData: { ca }, resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 } });
    this.#worker.unref();
    let problem = 'it was ended';
    this.#worker.on('message', (message: FromThread) => this.#take(message));
    this.#worker.on('error', (error: Error) => (problem = error.message));
    this.#worker.on('exit', () => {
      onEnd();
      const error = new HoldfastError('INTERNAL', { message: `a thread that receives is gone: ${problem}` });
      for (const { reject } of this.#asked.values()) reject(error);
      this.#asked.clear();
    });
  }

  /** How many answers it is receiving. */
  get busy(): number {
    return this.#asked.size;
  }

  /** Settles only when nothing is written any more: whoever waits closes the file next. */
  async get(request: RangeRequest, { idleMs, signal, onBytes }: RangeOptions): Promise<readonly string[] | null> {
    signal.throwIfAborted();
    const id = ++this.#count;
    const stop = (): void => this.#send({ type: 'stop', id });
    signal.addEventListener('abort', stop, { once: true });
    this.#worker.ref();
    try {
      return await new Promise((resolve, reject) => {
        this.#asked.set(id, { onBytes, resolve, reject });
        this.#send({ type: 'get', id, request, idleMs });
      });
    } catch (thrown) {
      signal.throwIfAborted();
      throw thrown;
    } finally {
      signal.removeEventListener('abort', stop);
      this.#asked.delete(id);
      if (this.busy === 0) this.#worker.unref();
    }
  }

  close(): void {
    void this.#worker.terminate();
  }

  #take(message: FromThread): void {
    const asked = this.#asked.get(message.id);
    if (asked === undefined) return;
    if (message.type === 'bytes') asked.onBytes(message.bytes);
    else if (message.type === 'done') asked.resolve(message.sums);
    else if (message.type === 'other') asked.resolve(null);
    else asked.reject(asError(message));
  }

  #send(message: ToThread): void {
    this.#worker.postMessage(message);
  }
}
