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
  #ca: readonly string[] | null = null;
  readonly #most: number;
  readonly #threads = new Set<RangeThread>();

  constructor(most = Math.min(availableParallelism(), MOST_THREADS)) {
    this.#most = most;
  }

  /** Certificates beyond the runtime's own, null for none; before the first request. */
  trust(ca: readonly string[] | null): void {
    this.#ca = ca;
    if (ca !== null) for (const thread of this.#threads) thread.trust(ca);
  }

  /** The checksums of the parts that were written; null when the answer is not the plain one that was expected, and nothing was. */
  async get(request: RangeRequest, options: RangeOptions): Promise<readonly string[] | null> {
    return (await this.#threadFor(request.fd)?.get(request, options)) ?? null;
  }

  /** Some are started now: they are needed soon. */
  warm(): void {
    for (let count = this.#threads.size; count < Math.min(WARM_THREADS, this.#most); count++) this.#start();
  }

  close(): void {
    for (const thread of this.#threads) thread.close();
    this.#threads.clear();
  }

  /** Two that write to one file wait for each other: it is left to the one that has it already, unless others have less to do. */
  #threadFor(fd: number): RangeThread | null {
    const threads = [...this.#threads].sort((a, b) => a.busy - b.busy);
    const [idlest] = threads;
    if (idlest === undefined || (idlest.busy > 0 && threads.length < this.#most)) return this.#start() ?? idlest ?? null;
    const acquainted = threads.find((thread) => thread.writesTo(fd));
    return acquainted !== undefined && idlest.busy > 0 && acquainted.busy <= idlest.busy + 1 ? acquainted : idlest;
  }

  /** Null where there can be no more threads. */
  #start(): RangeThread | null {
    try {
      const thread: RangeThread = new RangeThread(() => this.#threads.delete(thread));
      if (this.#ca !== null) thread.trust(this.#ca);
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
  readonly fd: number;
  readonly onBytes: (bytes: number) => void;
  readonly resolve: (sums: readonly string[] | null) => void;
  readonly reject: (error: Error) => void;
}

class RangeThread {
  readonly #worker: Worker;
  readonly #asked = new Map<number, Asked>();
  #count = 0;

  constructor(onEnd: () => void) {
    this.#worker = new Worker(PROGRAM, { resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 } });
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

  trust(ca: readonly string[]): void {
    this.#send({ type: 'trust', ca });
  }

  writesTo(fd: number): boolean {
    return [...this.#asked.values()].some((asked) => asked.fd === fd);
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
        this.#asked.set(id, { fd: request.fd, onBytes, resolve, reject });
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
