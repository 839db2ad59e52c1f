import type { Algorithm, Check } from './check.ts';

/**
 * A range of a file to be hashed by a worker: a whole check, or a part of one whose parts can be
 * combined.
 */
export interface Task {
  readonly check: number;
  readonly part: number;
  readonly algorithm: Algorithm;
  readonly encoding: Check['encoding'];
  readonly offset: number;
  readonly length: number;
  readonly decodedLength: number;
  /** The place of the expected value, when it is not known yet. */
  readonly expectedAt: number | null;
}

/** Neighbouring tasks of one file that one worker hashes together. */
export interface Batch {
  /** The folder that no component of `file` leads out of. */
  readonly root: string;
  readonly file: string;
  readonly tasks: readonly Task[];
  readonly bytes: number;
}

/** The result of a worker: the value in hexadecimal, or the reason for its absence. */
export interface TaskResult {
  readonly check: number;
  readonly part: number;
  readonly value: string | null;
  /** The stored value, if the task named its place. */
  readonly expected: string | null;
  readonly problem: string | null;
  /** The bytes could not be read, which proves nothing about them. */
  readonly isUnreadable: boolean;
}

/** The most bytes in one batch and in one part of a long check. */
export const BATCH_BYTES = 16 * 1024 * 1024;
/** Tasks travel to workers as messages, which are copies. */
const BATCH_TASKS = 4096;

function isCombinable({ algorithm, encoding }: Check): boolean {
  return encoding === 'stored' && (algorithm === 'crc32' || algorithm === 'crc32c' || algorithm === 'crc32c-masked');
}

/**
 * Cuts the checks into batches: long ones into parts where the algorithm allows, short neighbours
 * together.
 */
export function planBatches(root: string, checks: readonly Check[]): readonly Batch[] {
  const order = checks.map((_, index) => index);
  order.sort((a, b) => compareChecks(checks[a], checks[b]));
  const batches: Batch[] = [];
  let open: { root: string; file: string; tasks: Task[]; bytes: number } | null = null;
  for (const index of order) {
    const check = checks[index];
    if (check === undefined) continue;
    for (const task of tasksOf(check, index)) {
      if (open === null || open.file !== check.file || open.bytes + task.length > BATCH_BYTES || open.tasks.length >= BATCH_TASKS) {
        open = { root, file: check.file, tasks: [], bytes: 0 };
        batches.push(open);
      }
      open.tasks.push(task);
      open.bytes += task.length;
    }
  }
  return batches;
}

function compareChecks(a: Check | undefined, b: Check | undefined): number {
  if (a === undefined || b === undefined || a.file === b.file) return (a?.offset ?? 0) - (b?.offset ?? 0);
  return a.file < b.file ? -1 : 1;
}

/** The number of tasks that a check is cut into. */
export function partsOf(check: Check): number {
  return isCombinable(check) ? Math.max(1, Math.ceil(check.length / BATCH_BYTES)) : 1;
}

function tasksOf(check: Check, index: number): readonly Task[] {
  const { algorithm, encoding, decodedLength } = check;
  const expectedAt = typeof check.expected === 'string' ? null : check.expected.at;
  const size = isCombinable(check) ? BATCH_BYTES : Math.max(check.length, 1);
  const tasks: Task[] = [];
  for (let at = 0, part = 0; at < check.length || part === 0; at += size, part++) {
    const length = Math.min(size, check.length - at);
    tasks.push({ check: index, part, algorithm, encoding, offset: check.offset + at, length, decodedLength, expectedAt });
  }
  return tasks;
}
