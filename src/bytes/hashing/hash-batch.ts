import { closeSync, constants, fstatSync } from 'node:fs';
import { openBeneath } from '../../core/beneath.ts';
import { systemCode } from '../../core/errors.ts';
import { hashRange, readStored } from './hash-range.ts';
import type { Batch, TaskResult } from './task.ts';

/** Runs the tasks of a batch in order. Never throws: the results carry the errors. */
export async function hashBatch(batch: Batch): Promise<readonly TaskResult[]> {
  let handle: number | null = null;
  try {
    handle = openBeneath(batch.root, batch.file, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!fstatSync(handle).isFile()) return batch.tasks.map((task) => failed(task, 'is no longer a regular file'));
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
