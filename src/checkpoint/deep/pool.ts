import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { hashBatch } from './hash-batch.ts';
import type { Batch, TaskResult } from './task.ts';

/** Enough to keep a disk busy while the cores hash; each costs about 14 MB. */
const MAX_WORKERS = 8;

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
  const count = Math.min(batches.length, maxWorkers, Math.max(2, availableParallelism()));
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

function startWorker(): Worker {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new Worker(new URL(`./worker.${extension}`, import.meta.url), { resourceLimits: { maxOldGenerationSizeMb: 64 } });
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
