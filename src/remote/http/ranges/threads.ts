import { availableParallelism } from 'node:os';
import { HoldfastError } from '../../../core/errors.ts';
import { threadProgram, WorkerThread } from '../../../core/worker-thread.ts';
import type { RawOptions } from '../raw-get.ts';
import type { FromThread, RangeRequest, SystemFailure, ToThread } from './range-messages.ts';

/** More threads would be idle once the network is full. */
const MOST_THREADS = 8;
/** Even a small fetch soon keeps this many threads busy. */
const WARM_THREADS = 2;

const PROGRAM = threadProgram('range-worker', import.meta.url);

/** What the read of one range needs. */
export interface RangeOptions extends RawOptions {
  readonly onBytes: (bytes: number) => void;
}

/**
 * Receives large answers on threads, at most one per processor. One processor cannot decrypt, sum
 * and write what a fast store sends. Threads start on demand.
 */
export class RangeThreads {
  #ca: readonly string[] | null = null;
  readonly #most: number;
  readonly #threads = new Set<RangeThread>();

  constructor(most = Math.min(availableParallelism(), MOST_THREADS)) {
    this.#most = most;
  }

  /** Sets certificates beyond the runtime's own, or null; call it before the first request. */
  trust(ca: readonly string[] | null): void {
    this.#ca = ca;
    if (ca !== null) for (const thread of this.#threads) thread.trust(ca);
  }

  /**
   * Reads a range into a file and returns the checksums of its parts. Null when the answer is not
   * the expected plain one and nothing was written.
   */
  async get(request: RangeRequest, options: RangeOptions): Promise<readonly string[] | null> {
    return (await this.#threadFor(request.fd)?.get(request, options)) ?? null;
  }

  /** Starts some threads early, because a fetch is about to need them. */
  warm(): void {
    for (let count = this.#threads.size; count < Math.min(WARM_THREADS, this.#most); count++) this.#start();
  }

  close(): void {
    for (const thread of this.#threads) thread.close();
    this.#threads.clear();
  }

  /**
   * Picks a thread for a file. Writers to one file wait for each other, so its current thread keeps
   * it, unless others have less to do.
   */
  #threadFor(fd: number): RangeThread | null {
    const threads = [...this.#threads].sort((a, b) => a.busy - b.busy);
    const [idlest] = threads;
    if (idlest === undefined || (idlest.busy > 0 && threads.length < this.#most)) return this.#start() ?? idlest ?? null;
    const acquainted = threads.find((thread) => thread.writesTo(fd));
    return acquainted !== undefined && idlest.busy > 0 && acquainted.busy <= idlest.busy + 1 ? acquainted : idlest;
  }

  /** Starts a thread; null at the limit. */
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
  readonly #thread: WorkerThread<ToThread, FromThread>;
  readonly #asked = new Map<number, Asked>();
  #count = 0;

  constructor(onEnd: () => void) {
    this.#thread = new WorkerThread(PROGRAM, {
      heapMb: 64,
      youngMb: 2,
      onMessage: (message) => this.#take(message),
      onExit: (problem) => {
        onEnd();
        const error = new HoldfastError('INTERNAL', { message: `a receiving thread has ended: ${problem?.message ?? 'it was ended'}` });
        for (const { reject } of this.#asked.values()) reject(error);
        this.#asked.clear();
      },
    });
  }

  /** The number of answers in progress. */
  get busy(): number {
    return this.#asked.size;
  }

  trust(ca: readonly string[]): void {
    this.#send({ type: 'trust', ca });
  }

  writesTo(fd: number): boolean {
    return [...this.#asked.values()].some((asked) => asked.fd === fd);
  }

  /** Settles only after the last write, because the caller closes the file next. */
  async get(request: RangeRequest, { idleMs, signal, onBytes }: RangeOptions): Promise<readonly string[] | null> {
    signal.throwIfAborted();
    const id = ++this.#count;
    const stop = (): void => this.#send({ type: 'stop', id });
    signal.addEventListener('abort', stop, { once: true });
    this.#thread.hold();
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
      if (this.busy === 0) this.#thread.letGo();
    }
  }

  close(): void {
    void this.#thread.terminate();
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
    this.#thread.send(message);
  }
}
