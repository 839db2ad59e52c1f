import { getAsset } from 'node:sea';
import * as threads from 'node:worker_threads';

/** The names of `node:worker_threads` that this module passes through. */
export const { isMainThread, parentPort, threadId, workerData } = threads;

/**
 * In place of node:worker_threads. Here a worker is a part of the executable's one program. A new
 * thread runs that program again, and the first argument names the part.
 */
export class Worker extends threads.Worker {
  constructor(program: string | URL, options: threads.WorkerOptions = {}) {
    if (!(program instanceof URL)) super(program, options);
    else super(getAsset('program', 'utf8'), { ...options, eval: true, argv: [program.pathname] });
  }
}
