import { join, relative } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { hashBatch } from '../../bytes/hashing/hash-batch.ts';
import { HashPool } from '../../bytes/hashing/pool.ts';
import { BATCH_BYTES, type Batch, type Task, type TaskResult } from '../../bytes/hashing/task.ts';
import { PART_BYTES, type SealedFile } from '../../seal/manifest.ts';
import { countsBlocksExactly } from '../../formats/reading/file-evidence.ts';
import type { FileToRead } from './file-to-read.ts';
import { assertNotHollow } from './hollow-files.ts';
import { writeBack } from './write-back.ts';

/** The bytes in the page cache that one thread reads faster than a second one starts. */
const MANY_BYTES = 256 * 1024 * 1024;

/** How to read the files, and how to report progress. */
export interface ChecksumOptions {
  /**
   * How many threads read at a time, each with about 14 MB; this thread counts as one. The default
   * keeps a disk busy.
   */
  readonly threads?: number;
  /**
   * A folder around the one to read: no link below it is followed. By default the folder to read
   * itself.
   */
  readonly beneath?: string;
  readonly signal?: AbortSignal;
  readonly onBytes?: (done: number, total: number) => void;
}

/** A file with a part that has no checksum, and why. */
export interface PartProblem {
  readonly path: string;
  readonly problem: string;
  /** True when the system refused to read, which proves nothing about the bytes. */
  readonly isUnreadable: boolean;
}

/** The checksums of all readable parts, and the problems of the others. */
export interface Checksummed {
  readonly files: readonly SealedFile[];
  readonly problems: readonly PartProblem[];
}

/**
 * Returns the crc32c of every part of the files below `folder`; memory does not grow with the
 * files.
 */
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
  const batches = planParts(options.beneath ?? folder, folder, files);
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
 * Like {@link checksumFiles}, for files that were just written or read: each must be readable and
 * of its size. Large ones are written back to the disk meanwhile.
 */
export async function sealFiles(
  folder: string,
  files: readonly FileToRead[],
  options: ChecksumOptions = {},
): Promise<readonly SealedFile[]> {
  if (countsBlocksExactly(folder)) for (const { path, size } of files) assertNotHollow(join(folder, path), size);
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
      ? 'Nothing was committed. Check the volume before the next save.'
      : 'A process is still writing the checkpoint: seal it when its writer is done.',
  });
}

function bytesOf(files: readonly FileToRead[]): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}

function planParts(beneath: string, folder: string, files: readonly FileToRead[]): readonly Batch[] {
  const below = relative(beneath, folder);
  const root = below.startsWith('..') ? folder : beneath;
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
      batches.push({ root, file: root === folder ? path : join(below, path), tasks, bytes: end - start });
    }
    return batches;
  });
}
