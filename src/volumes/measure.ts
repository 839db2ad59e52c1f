import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../core/clock.ts';
import { HoldfastError, systemCode } from '../core/errors.ts';
import { printable } from '../core/printable.ts';
import { createRng } from '../core/rng.ts';

/** Where and how a volume is measured. */
export interface MeasureOptions {
  /** An empty folder on the measured file system. */
  readonly folder: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** How the speed of writes is measured. */
export interface WriteOptions extends MeasureOptions {
  readonly bytesPerRound: number;
  readonly rounds: number;
  readonly onProgress: (doneBytes: number) => void;
}

/** As large as the parts of a save, and small enough to react to Ctrl-C between two. */
const CHUNK_BYTES = 8 * 2 ** 20;
/** Timers of some systems are coarse; nothing is faster than this. */
const SHORTEST_MS = 0.001;

/** Bytes per second of writing a new file and syncing it, one number per round. */
export async function measureWrites({ folder, clock, signal, bytesPerRound, rounds, onProgress }: WriteOptions): Promise<number[]> {
  const chunk = incompressible(Math.min(CHUNK_BYTES, bytesPerRound));
  const rates: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const path = join(folder, `round-${round}`);
    await withNewFile(path, async (file) => {
      const start = clock.monotonic();
      for (let offset = 0; offset < bytesPerRound; offset += chunk.length) {
        signal.throwIfAborted();
        // All chunks differ, so that a deduplicating disk cannot store them once.
        chunk.writeDoubleLE(round + offset, 0);
        await writeFully(file, chunk.subarray(0, bytesPerRound - offset), offset);
        onProgress(round * bytesPerRound + Math.min(bytesPerRound, offset + chunk.length));
      }
      await file.datasync();
      rates.push((1000 * bytesPerRound) / Math.max(SHORTEST_MS, clock.monotonic() - start));
    });
    // Each round writes new blocks as a save does, and frees them before the next.
    await rm(path);
  }
  return rates;
}

const SAMPLE_BYTES = 4096;
const MOST_SAMPLES = 100;
const LONGEST_MS = 5000;

/**
 * Milliseconds to append 4 KiB and sync it, one number per sample; fewer samples on a slow disk.
 */
export async function measureSyncs({ folder, clock, signal }: MeasureOptions): Promise<number[]> {
  const block = incompressible(SAMPLE_BYTES);
  const times: number[] = [];
  await withNewFile(join(folder, 'syncs'), async (file) => {
    const end = clock.monotonic() + LONGEST_MS;
    for (let sample = 0; sample < MOST_SAMPLES && (sample === 0 || clock.monotonic() < end); sample++) {
      signal.throwIfAborted();
      const start = clock.monotonic();
      await writeFully(file, block, sample * SAMPLE_BYTES);
      await file.datasync();
      times.push(clock.monotonic() - start);
    }
  });
  return times;
}

async function writeFully(file: FileHandle, bytes: Buffer, offset: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    written += (await file.write(bytes, written, bytes.length - written, offset + written)).bytesWritten;
  }
}

async function withNewFile(path: string, work: (file: FileHandle) => Promise<void>): Promise<void> {
  try {
    const file = await open(path, 'wx');
    try {
      await work(file);
    } finally {
      await file.close();
    }
  } catch (thrown) {
    const code = thrown instanceof HoldfastError ? null : systemCode(thrown);
    if (code === null || !/^E[A-Z0-9]+$/.test(code)) throw thrown;
    throw new HoldfastError('STORAGE_FAILED', {
      message: `writing ${printable(path)} failed: ${code}`,
      hint: 'Holdfast removes what it wrote. `holdfast probe --quick` tests without writing much.',
      cause: thrown,
    });
  }
}

/** Bytes that do not compress, the same every time. */
function incompressible(length: number): Buffer {
  const bytes = Buffer.alloc(Math.max(8, length));
  const rng = createRng(length);
  for (let at = 0; at + 4 <= bytes.length; at += 4) bytes.writeUInt32LE(rng.integer(0, 0xffffffff), at);
  return bytes;
}
