import { getAsset } from 'node:sea';
import * as threads from 'node:worker_threads';

export const { isMainThread, parentPort, threadId, workerData } = threads;

/**
 * In place of node:worker_threads: a worker of ours is not a file here but a part of the executable's one program, which is run again on the
 * new thread and told by its first argument which part it is.
 */
export class Worker extends threads.Worker {
  constructor(program: string | URL, options: threads.WorkerOptions = {}) {
    if (!(program instanceof URL)) super(program, options);
    else super(getAsset('program', 'utf8'), { ...options, eval: true, argv: [program.pathname] });
  }
}
