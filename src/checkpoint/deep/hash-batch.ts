import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { systemCode } from '../../core/errors.ts';
import { hashRange, readStored } from './hash-range.ts';
import type { Batch, TaskResult } from './task.ts';

/** Does the tasks of a batch, whose `file` is an absolute path, one after the other. Never throws: what fails is in the results. */
export async function hashBatch(batch: Batch): Promise<readonly TaskResult[]> {
  let handle: number | null = null;
  try {
    handle = openSync(batch.file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if (!fstatSync(handle).isFile()) return batch.tasks.map((task) => failed(task, 'is not a regular file any more'));
    const results: TaskResult[] = [];
    for (const task of batch.tasks) {
      const expected = task.expectedAt === null ? null : readStored(handle, task.expectedAt);
      results.push({ check: task.check, part: task.part, expected, isUnreadable: false, ...(await hashRange(handle, task)) });
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
  return { check: task.check, part: task.part, value: null, expected: null, problem, isUnreadable: true };
}
