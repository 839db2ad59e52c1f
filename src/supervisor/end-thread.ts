import type { Worker } from 'node:worker_threads';
import type { Clock } from '../core/clock.ts';
import { bounded } from './bounded.ts';

/** Ends a thread, whatever it does; false when that takes longer, because it waits in the kernel for a disk that does not answer. */
export async function endThread(worker: Worker, patienceMs: number, clock: Clock): Promise<boolean> {
  const ended = worker.terminate().then(() => true);
  return (await bounded(ended, patienceMs, clock)) ?? false;
}
