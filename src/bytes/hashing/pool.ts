import { availableParallelism } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { realClock } from '../../core/clock.ts';
import { relieveMemory } from '../../core/memory.ts';
import { threadProgram, WorkerThread } from '../../core/worker-thread.ts';
import { hashBatch } from './hash-batch.ts';
import type { Batch, TaskResult } from './task.ts';

/** Enough threads to keep a disk busy while the cores hash; the main thread is one of them. */
const MAX_THREADS = 8;
/** The memory of each thread, and the bound for the process with all of them. */
const WORKER_BYTES = 20e6;
const PROCESS_BYTES = 232e6;
/**
 * If the process holds more than this after a run, the pool ends its workers. Only their own
 * collectors could free their garbage.
 */
const RESTING_BYTES = 150e6;

/** The main thread hashes less than this alone: starting others would take longer. */
const INLINE_BYTES = 16 * 1024 * 1024;

/** Bytes per millisecond that one thread hashes from memory. A slower rate points to the disk. */
const MEMORY_BYTES_PER_MS = 1e6;

/** Batches queued at a worker: the current one, and one more so that it never waits. */
const AHEAD = 2;

interface RunOptions {
  readonly signal: AbortSignal;
  readonly onResults: (results: readonly TaskResult[], batch: Batch) => void;
}

/**
 * Threads that hash. Workers start with the first large run, and stay until the pool is closed or
 * memory runs short.
 */
export class HashPool {
  readonly #maxThreads: number;
  #workers: readonly HashWorker[] = [];
  /**
   * Whether the threads wait for the disk, so that one thread more than cores pays off. Null until
   * the first bytes were timed.
   */
  #isWaiting: boolean | null = null;

  constructor(maxThreads: number = MAX_THREADS) {
    this.#maxThreads = maxThreads;
  }

  /**
   * Runs the batches and yields the results as they arrive. One run at a time. Returns early when
   * the signal is raised.
   */
  async run(batches: readonly Batch[], { signal, onResults }: RunOptions): Promise<void> {
    const isMuch = batches.reduce((sum, { bytes }) => sum + bytes, 0) > INLINE_BYTES;
    let next = 0;
    if (isMuch && this.#isWaiting === null && batches[0] !== undefined) {
      onResults(await this.#try(batches[0]), batches[0]);
      next = 1;
    }
    const workers = isMuch ? this.#start(batches.length - 1) : [];
    const lane = async (hash: (batch: Batch) => Promise<readonly TaskResult[]>): Promise<void> => {
      for (let batch = batches[next++]; batch !== undefined && !signal.aborted; batch = batches[next++]) {
        const results = await hash(batch);
        if (!signal.aborted) onResults(results, batch);
      }
    };
    const ofWorkers = workers.flatMap((worker) => Array.from({ length: AHEAD }, () => lane((batch) => worker.ask(batch, signal))));
    await Promise.all([...ofWorkers, lane(hashHere)]);
    if (process.memoryUsage.rss() > RESTING_BYTES) await this.close();
  }

  async close(): Promise<void> {
    const workers = this.#workers;
    this.#workers = [];
    await Promise.all(workers.map((worker) => worker.terminate()));
  }

  /** Hashes the first batch on this thread alone, to measure the speed. */
  async #try(batch: Batch): Promise<readonly TaskResult[]> {
    const started = realClock.monotonic();
    const results = await hashHere(batch);
    this.#isWaiting = batch.bytes / (realClock.monotonic() - started) < MEMORY_BYTES_PER_MS;
    return results;
  }

  #start(most: number): readonly HashWorker[] {
    const threads = Math.max(2, availableParallelism()) + (this.#isWaiting === true ? 1 : 0);
    const wanted = Math.min(most, this.#maxThreads - 1, threads - 1) - this.#workers.length;
    if (wanted <= 0) return this.#workers;
    const count = Math.min(wanted, affordableWorkers());
    this.#workers = [...this.#workers, ...Array.from({ length: count }, () => new HashWorker())];
    return this.#workers;
  }
}

/** Hashes on this thread, and checks after each batch for answers of others and for the signal. */
async function hashHere(batch: Batch): Promise<readonly TaskResult[]> {
  const results = await hashBatch(batch);
  await nextTurn();
  return results;
}

/** If reading the index took much memory, fewer threads fit. */
function affordableWorkers(): number {
  relieveMemory();
  return Math.max(0, Math.floor((PROCESS_BYTES - process.memoryUsage.rss()) / WORKER_BYTES));
}

interface Waiting {
  readonly resolve: (results: readonly TaskResult[]) => void;
  readonly reject: (error: Error) => void;
}

const PROGRAM = threadProgram('hash-worker', import.meta.url);

/** A thread that hashes; it answers in the order of the requests. */
class HashWorker {
  readonly #thread: WorkerThread<Batch, readonly TaskResult[]>;
  readonly #waiting: Waiting[] = [];

  constructor() {
    this.#thread = new WorkerThread(PROGRAM, {
      heapMb: 64,
      youngMb: 2,
      onMessage: (results) => this.#waiting.shift()?.resolve(results),
      onExit: (problem) => {
        for (const { reject } of this.#waiting.splice(0)) reject(problem ?? new Error('the thread that hashes was ended'));
      },
    });
    // The command waits for its answer, so the process must live until then.
    this.#thread.hold();
  }

  /** The results of a batch; none when the signal is raised first. */
  ask(batch: Batch, signal: AbortSignal): Promise<readonly TaskResult[]> {
    return new Promise((resolve, reject) => {
      const stop = () => resolve([]);
      signal.addEventListener('abort', stop, { once: true });
      const settle = () => signal.removeEventListener('abort', stop);
      this.#waiting.push({
        resolve: (results) => {
          settle();
          resolve(results);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      });
      this.#thread.send(batch);
    });
  }

  async terminate(): Promise<void> {
    await this.#thread.terminate();
  }
}
