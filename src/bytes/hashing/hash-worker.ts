import { parentPort } from 'node:worker_threads';
import { hashBatch } from './hash-batch.ts';
import type { Batch } from './task.ts';

/** A worker thread: takes batches with absolute paths, and answers with one result per task. */
const port = parentPort;
if (port === null) throw new Error('hash-worker.ts runs only as a worker thread');

/** One batch after the other: the caller matches answers to requests by their order. */
let last = Promise.resolve();

port.on('message', (batch: Batch) => {
  last = last.then(async () => port.postMessage(await hashBatch(batch)));
});
