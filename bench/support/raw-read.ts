import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { crc32 } from 'node:zlib';

/**
 * The limit for comparison: `node raw-read.ts read|hash FILE…` reads the files with one thread per
 * core, in ranges of 32 MiB, and does nothing else (or computes their CRC-32). It has no structure,
 * no comparison and no report.
 */
const RANGE = 32 * 1024 * 1024;
const WINDOW = 4 * 1024 * 1024;

if (isMainThread) {
  const [mode = 'read', ...files] = process.argv.slice(2);
  const next = new Int32Array(new SharedArrayBuffer(4));
  for (let count = Math.max(2, availableParallelism()); count > 0; count--) {
    new Worker(new URL(import.meta.url), { workerData: { mode, files, next } });
  }
} else {
  const { mode, files, next } = workerData as { mode: string; files: readonly string[]; next: Int32Array };
  const ranges = files.flatMap((file) => rangesOf(file));
  const window = Buffer.allocUnsafeSlow(WINDOW);
  for (let at = Atomics.add(next, 0, 1); at < ranges.length; at = Atomics.add(next, 0, 1)) {
    const range = ranges[at];
    if (range !== undefined) readRange(range, window, mode === 'hash');
  }
  parentPort?.close();
}

function rangesOf(file: string): readonly { file: string; from: number; to: number }[] {
  const handle = openSync(file, 'r');
  const { size } = fstatSync(handle);
  closeSync(handle);
  return Array.from({ length: Math.ceil(size / RANGE) }, (_, index) => ({
    file,
    from: index * RANGE,
    to: Math.min(size, (index + 1) * RANGE),
  }));
}

function readRange({ file, from, to }: { file: string; from: number; to: number }, window: Buffer, hash: boolean): void {
  const handle = openSync(file, 'r');
  let sum = 0;
  for (let at = from; at < to; ) {
    const count = readSync(handle, window, 0, Math.min(WINDOW, to - at), at);
    if (count === 0) break;
    if (hash) sum = crc32(window.subarray(0, count), sum);
    at += count;
  }
  closeSync(handle);
}
