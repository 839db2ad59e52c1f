import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { startAttempt } from '../../src/store/attempt/attempt.ts';
import { commitSave, type Sealed } from '../../src/store/commit/commit.ts';
import { beginSave, writeReceipt } from '../../src/store/commit/save.ts';
import { openRun } from '../../src/store/folder/store.ts';
import { createRng } from '../../src/core/rng.ts';

const MIB = 1024 * 1024;

/**
 * The files of a small checkpoint with every case: parts, one piece, an empty file, folders, odd
 * names.
 */
export const FILES: Readonly<Record<string, number>> = {
  'model/weights-1.dat': 70 * MIB + 4321,
  'model/weights-2.dat': 40 * MIB,
  'optimizer.dat': 9 * MIB + 1,
  'a name with spaces & ünïcode+%41.dat': 1234,
  'empty.dat': 0,
};

interface SealOptions {
  /** The run that a new folder becomes one of. */
  readonly run?: string;
  /** The number of the attempt; by default the next one. */
  readonly attempt?: number;
  /** The seed of the bytes; by default the step. */
  readonly seed?: number;
}

/** Saves and seals a checkpoint in the folder of a run, in a new attempt. */
export async function sealCheckpoint(
  path: string,
  step: number,
  files: Readonly<Record<string, number>> = FILES,
  { run, attempt: number, seed = step }: SealOptions = {},
): Promise<Sealed> {
  mkdirSync(path, { recursive: true });
  const store = openRun(path, run === undefined ? {} : { run });
  const attempt = await startAttempt(store, { gang: `gang-${step}-${seed}`, ...(number === undefined ? {} : { attempt: number }) });
  const save = beginSave(store, attempt, { step, worldSize: 1 });
  for (const [name, size] of Object.entries(files)) {
    mkdirSync(dirname(join(save.data, name)), { recursive: true });
    writeFileSync(join(save.data, name), bytesOf(size, seed));
  }
  await writeReceipt(store, save, { rank: 0, files: Object.keys(files) });
  return commitSave(store, save);
}

/** Makes bytes without repetitions that could hide a misplaced range. */
function bytesOf(size: number, seed: number): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  const rng = createRng(seed);
  const block = Buffer.from(Array.from({ length: 4096 }, () => rng.integer(0, 255)));
  for (let at = 0; at < size; at += block.length) {
    block.copy(bytes, at);
    if (at + 8 <= size) bytes.writeDoubleBE(at + seed, at);
  }
  return bytes;
}
