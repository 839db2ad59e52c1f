import { availableParallelism } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { realClock } from '../../core/clock.ts';
import { relieveMemory } from '../../core/memory.ts';
import { hashBatch } from './hash-batch.ts';
import type { Batch, TaskResult } from './task.ts';

/** Enough to keep a disk busy while the cores hash; the main thread is one of them. */
const MAX_THREADS = 8;
/** What each costs, and what the process may hold with all of them. */
const WORKER_BYTES = 20e6;
const PROCESS_BYTES = 232e6;
/** Where the process holds more than this after a run, its workers go: what piled up in theirs only they could collect. */
const RESTING_BYTES = 150e6;

/** Less than this is hashed by the main thread alone: starting others would take longer. */
const INLINE_BYTES = 16 * 1024 * 1024;

/** Bytes that one thread hashes of what lies in memory: slower ones come from a disk. */
const MEMORY_BYTES_PER_MS = 1e6;

/** Batches that lie with a worker: the one it does, and one so that it need not wait for the next. */
const AHEAD = 2;

interface RunOptions {
  readonly signal: AbortSignal;
  readonly onResults: (results: readonly TaskResult[], batch: Batch) => void;
}

/** Threads that hash. Workers start with the first work that is worth it, and stay until the pool is closed or memory runs short. */
export class HashPool {
  readonly #maxThreads: number;
  #workers: readonly HashWorker[] = [];
  /** Whether threads wait for the disk, so that one more than there are cores is worth it; null until the first bytes have shown it. */
  #isWaiting: boolean | null = null;

  constructor(maxThreads: number = MAX_THREADS) {
    this.#maxThreads = maxThreads;
  }

  /** Has the batches done, and hands the results over as they come. One run at a time. Returns early when the signal is raised. */
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

  /** Hashes the first batch on this thread alone, to see how fast bytes come. */
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

/** By this thread, which looks up after each batch: others have answered meanwhile, or a signal came. */
async function hashHere(batch: Batch): Promise<readonly TaskResult[]> {
  const results = await hashBatch(batch);
  await nextTurn();
  return results;
}

/** Where reading the index took much memory, less is left for threads. */
function affordableWorkers(): number {
  relieveMemory();
  return Math.max(0, Math.floor((PROCESS_BYTES - process.memoryUsage.rss()) / WORKER_BYTES));
}

interface Waiting {
  readonly resolve: (results: readonly TaskResult[]) => void;
  readonly reject: (error: Error) => void;
}

/** A worker thread answers in the order in which it is asked. */
class HashWorker {
  readonly #worker: Worker;
  readonly #waiting: Waiting[] = [];

  constructor() {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    this.#worker = new Worker(new URL(`./worker.${extension}`, import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 },
    });
    this.#worker.on('message', (results: readonly TaskResult[]) => this.#waiting.shift()?.resolve(results));
    this.#worker.on('error', (error: Error) => {
      for (const { reject } of this.#waiting.splice(0)) reject(error);
    });
  }

  /** The results of a batch; none when the signal is raised before they are there. */
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
      this.#worker.postMessage(batch);
    });
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }
}
