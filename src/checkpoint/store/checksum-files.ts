import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { hashBatch } from '../deep/hash-batch.ts';
import { HashPool } from '../deep/pool.ts';
import { BATCH_BYTES, type Batch, type Task, type TaskResult } from '../deep/task.ts';
import { PART_BYTES, type SealedFile } from './manifest.ts';
import { writeBack } from './write-back.ts';

/** Bytes in the page cache that one thread reads faster than a second one starts. */
const MANY_BYTES = 256 * 1024 * 1024;

export interface FileToRead {
  readonly path: string;
  readonly size: number;
}

export interface ChecksumOptions {
  /** How many read at a time, each about 14 MB; by default enough to keep a disk busy. One is this thread itself. */
  readonly threads?: number;
  readonly signal?: AbortSignal;
  readonly onBytes?: (done: number, total: number) => void;
}

/** One part whose checksum could not be had. */
export interface PartProblem {
  readonly path: string;
  readonly problem: string;
  /** The system refused to read, which proves nothing about the bytes. */
  readonly isUnreadable: boolean;
}

export interface Checksummed {
  readonly files: readonly SealedFile[];
  readonly problems: readonly PartProblem[];
}

/** The crc32c of every part of the files below `folder`; memory does not grow with the files. */
export async function checksumFiles(folder: string, files: readonly FileToRead[], options: ChecksumOptions = {}): Promise<Checksummed> {
  const signal = options.signal ?? new AbortController().signal;
  const sums: string[][] = files.map(({ size }) => Array.from({ length: Math.ceil(size / PART_BYTES) }, () => ''));
  const problems: PartProblem[] = [];
  const total = bytesOf(files);
  let done = 0;
  const onResults = (results: readonly TaskResult[], batch: Batch): void => {
    for (const result of results) take(result, files, sums, problems);
    done += batch.bytes;
    options.onBytes?.(done, total);
  };
  const batches = planParts(folder, files);
  if (options.threads === 1) await runHere(batches, signal, onResults);
  else await runInPool(batches, options.threads, { signal, onResults });
  signal.throwIfAborted();
  return { files: files.map(({ path, size }, index) => ({ path, size, crc32c: sums[index] ?? [] })), problems };
}

async function runHere(
  batches: readonly Batch[],
  signal: AbortSignal,
  onResults: (results: readonly TaskResult[], batch: Batch) => void,
): Promise<void> {
  for (const batch of batches) {
    signal.throwIfAborted();
    onResults(await hashBatch(batch), batch);
    await nextTurn();
  }
}

async function runInPool(batches: readonly Batch[], threads: number | undefined, options: Parameters<HashPool['run']>[1]): Promise<void> {
  const pool = new HashPool(threads);
  try {
    await pool.run(batches, options);
  } finally {
    await pool.close();
  }
}

function take(result: TaskResult, files: readonly FileToRead[], sums: string[][], problems: PartProblem[]): void {
  const { check, part, value, problem, isUnreadable } = result;
  const own = sums[check];
  if (value !== null && own !== undefined) own[part] = value;
  else problems.push({ path: files[check]?.path ?? '', problem: problem ?? 'cannot be read', isUnreadable });
}

/**
 * Like {@link checksumFiles}, for files that were just written or read, and that must all be readable and of their size. They are on their way
 * to the disk meanwhile.
 */
export async function sealFiles(
  folder: string,
  files: readonly FileToRead[],
  options: ChecksumOptions = {},
): Promise<readonly SealedFile[]> {
  const [written, checksummed] = await Promise.allSettled([
    writeBack(folder, files, options.signal),
    checksumFiles(folder, files, { threads: bytesOf(files) < MANY_BYTES ? 1 : 2, ...options }),
  ]);
  if (written.status === 'rejected') throw written.reason;
  if (checksummed.status === 'rejected') throw checksummed.reason;
  const { files: sealed, problems } = checksummed.value;
  const [first] = problems;
  if (first === undefined) return sealed;
  throw new HoldfastError(first.isUnreadable ? 'STORE_FAILED' : 'CHECKPOINT_CHANGED', {
    message: `${printable(join(folder, first.path))} ${first.problem}`,
    hint: first.isUnreadable
      ? 'Nothing was committed. Look at the volume before the next save.'
      : 'Somebody is still writing the checkpoint: seal it when its writer is done.',
  });
}

function bytesOf(files: readonly FileToRead[]): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}

function planParts(folder: string, files: readonly FileToRead[]): readonly Batch[] {
  return files.flatMap(({ path, size }, check) => {
    const batches: Batch[] = [];
    for (let start = 0; start < size; start += BATCH_BYTES) {
      const end = Math.min(size, start + BATCH_BYTES);
      const tasks: Task[] = [];
      for (let offset = start; offset < end; offset += PART_BYTES) {
        const length = Math.min(PART_BYTES, end - offset);
        const range = { offset, length, decodedLength: length };
        tasks.push({ check, part: offset / PART_BYTES, algorithm: 'crc32c', encoding: 'stored', ...range, expectedAt: null });
      }
      batches.push({ file: join(folder, path), tasks, bytes: end - start });
    }
    return batches;
  });
}
