import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

/** Keeps all processors of the machine busy until it is disposed of or this process ends. */
export function makeLoad(): AsyncDisposable {
  const workers = Array.from({ length: availableParallelism() }, () => new Worker('for (;;);', { eval: true }));
  return {
    async [Symbol.asyncDispose](): Promise<void> {
      await Promise.all(workers.map((worker) => worker.terminate()));
    },
  };
}
