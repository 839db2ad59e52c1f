import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { relieveMemory } from '../../core/memory.ts';
import { hashBatch } from './hash-batch.ts';
import type { Batch, TaskResult } from './task.ts';

/** Enough to keep a disk busy while the cores hash. */
const MAX_WORKERS = 8;
/** What each costs, and what the process may hold with all of them. */
const WORKER_BYTES = 20e6;
const PROCESS_BYTES = 232e6;

/** Less than this is hashed at once by the main thread: starting threads would take longer. */
const INLINE_BYTES = 16 * 1024 * 1024;

interface PoolOptions {
  readonly signal: AbortSignal;
  readonly onResults: (results: readonly TaskResult[], batch: Batch) => void;
  readonly maxWorkers?: number;
}

/** Has the batches done, by worker threads where that pays, a batch at a time each, and hands the results over as they come. */
export async function runBatches(batches: readonly Batch[], { signal, onResults, maxWorkers = MAX_WORKERS }: PoolOptions): Promise<void> {
  if (batches.reduce((sum, { bytes }) => sum + bytes, 0) <= INLINE_BYTES) {
    for (const batch of batches) onResults(await hashBatch(batch), batch);
    return;
  }
  const count = Math.min(batches.length, maxWorkers, Math.max(2, availableParallelism()), affordableWorkers());
  const workers = Array.from({ length: count }, startWorker);
  let next = 0;
  try {
    await Promise.all(
      workers.map(async (worker) => {
        for (let batch = batches[next++]; batch !== undefined; batch = batches[next++]) {
          if (signal.aborted) return;
          onResults(await ask(worker, batch, signal), batch);
        }
      }),
    );
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

/** Where reading the index took much memory, less is left for threads. */
function affordableWorkers(): number {
  relieveMemory();
  return Math.max(1, Math.floor((PROCESS_BYTES - process.memoryUsage.rss()) / WORKER_BYTES));
}

function startWorker(): Worker {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new Worker(new URL(`./worker.${extension}`, import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 },
  });
}

function ask(worker: Worker, batch: Batch, signal: AbortSignal): Promise<readonly TaskResult[]> {
  return new Promise((resolve, reject) => {
    const stop = () => settle(() => resolve([]));
    const fail = (error: Error) => settle(() => reject(error));
    const answer = (results: readonly TaskResult[]) => settle(() => resolve(results));
    const settle = (outcome: () => void) => {
      signal.removeEventListener('abort', stop);
      worker.off('error', fail);
      worker.off('message', answer);
      outcome();
    };
    signal.addEventListener('abort', stop, { once: true });
    worker.once('error', fail);
    worker.once('message', answer);
    worker.postMessage(batch);
  });
}
