import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { systemCode } from '../../core/errors.ts';
import { hashRange, readStored } from './hash-range.ts';
import type { Batch, TaskResult } from './task.ts';

/** A worker thread: takes batches with absolute paths, answers with one result per task. */
const port = parentPort;
if (port === null) throw new Error('deep/worker.ts runs only as a worker thread');

port.on('message', (batch: Batch) => {
  void hashBatch(batch).then((results) => port.postMessage(results));
});

async function hashBatch(batch: Batch): Promise<readonly TaskResult[]> {
  let handle: number | null = null;
  try {
    handle = openSync(batch.file, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!fstatSync(handle).isFile()) return batch.tasks.map((task) => failed(task, 'is not a regular file any more'));
    const results: TaskResult[] = [];
    for (const task of batch.tasks) {
      const expected = task.expectedAt === null ? null : readStored(handle, task.expectedAt);
      results.push({ check: task.check, part: task.part, expected, ...(await hashRange(handle, task)) });
    }
    return results;
  } catch (thrown) {
    const reason = systemCode(thrown) ?? String(thrown);
    return batch.tasks.map((task) => failed(task, `cannot be read: ${reason}`));
  } finally {
    if (handle !== null) closeSync(handle);
  }
}

function failed(task: { check: number; part: number }, problem: string): TaskResult {
  return { check: task.check, part: task.part, value: null, expected: null, problem: `!${problem}` };
}
