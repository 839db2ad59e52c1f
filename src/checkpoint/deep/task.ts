import type { Algorithm, Check } from './check.ts';

/** A range of a file to be hashed by a worker: a whole check, or a part of one whose parts can be combined. */
export interface Task {
  readonly check: number;
  readonly part: number;
  readonly algorithm: Algorithm;
  readonly encoding: Check['encoding'];
  readonly offset: number;
  readonly length: number;
  readonly decodedLength: number;
  /** Where the expected value is stored, when it is not known yet. */
  readonly expectedAt: number | null;
}

/** Tasks of one file, close together, done by one worker in one go. */
export interface Batch {
  readonly file: string;
  readonly tasks: readonly Task[];
  readonly bytes: number;
}

/** What a worker found: the value in hexadecimal, or why there is none. */
export interface TaskResult {
  readonly check: number;
  readonly part: number;
  readonly value: string | null;
  /** The stored value, where the task said where to find it. */
  readonly expected: string | null;
  readonly problem: string | null;
  /** The bytes could not be read, which proves nothing about them. */
  readonly isUnreadable: boolean;
}

export const BATCH_BYTES = 16 * 1024 * 1024;
/** Tasks travel to workers as messages, which are copies. */
const BATCH_TASKS = 4096;

function isCombinable({ algorithm, encoding }: Check): boolean {
  return encoding === 'stored' && (algorithm === 'crc32' || algorithm === 'crc32c' || algorithm === 'crc32c-masked');
}

/** Cuts the checks into batches: long ones into parts where the algorithm allows, short neighbours together. */
export function planBatches(checks: readonly Check[]): readonly Batch[] {
  const order = checks.map((_, index) => index);
  order.sort((a, b) => compareChecks(checks[a], checks[b]));
  const batches: Batch[] = [];
  let open: { file: string; tasks: Task[]; bytes: number } | null = null;
  for (const index of order) {
    const check = checks[index];
    if (check === undefined) continue;
    for (const task of tasksOf(check, index)) {
      if (open === null || open.file !== check.file || open.bytes + task.length > BATCH_BYTES || open.tasks.length >= BATCH_TASKS) {
        open = { file: check.file, tasks: [], bytes: 0 };
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

/** Into how many tasks a check is cut. */
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
