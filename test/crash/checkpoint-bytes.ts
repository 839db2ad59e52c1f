import { join } from 'node:path';
import type { DurableFs } from '../../src/store/disk/durable-fs.ts';
import { createRng } from '../../src/core/rng.ts';

/**
 * Identifies the save of a checkpoint. Its bytes follow from this alone, so a reader can tell
 * whether they are right.
 */
export interface SaveName {
  readonly attempt: number;
  readonly step: number;
  readonly worldSize: number;
  /** The size of each rank's larger file; default 64. */
  readonly bytes?: number;
}

/**
 * The files of one rank: relative path to bytes. They have no framework's format, like a trainer's
 * own files.
 */
export function filesOf({ attempt, step, bytes = 64 }: SaveName, rank: number): Map<string, Buffer> {
  const rng = createRng(((attempt * 1000 + step) * 100 + rank) >>> 0);
  const random = (length: number): Buffer => {
    const buffer = Buffer.alloc(length);
    for (let index = 0; index < length; index += 4) buffer.writeUInt32LE(rng.integer(0, 0xffff_ffff), Math.min(index, length - 4));
    // Without this some random bytes look like the header of a known format.
    buffer.write('test data of a trainer\n');
    return buffer;
  };
  return new Map([
    [`shard-${rank}.dat`, random(bytes)],
    [`ranks/${rank}.json`, Buffer.from(JSON.stringify({ attempt, step, rank }))],
  ]);
}

/** All files of a whole checkpoint of this save. */
export function wholeOf(save: SaveName): Map<string, Buffer> {
  return new Map(Array.from({ length: save.worldSize }, (_, rank) => [...filesOf(save, rank)]).flat());
}

/** Writes one rank's files below `data`, as a framework does: without a sync. */
export function writeRank(fs: DurableFs, data: string, save: SaveName, rank: number): string[] {
  const files = filesOf(save, rank);
  if (fs.stat(join(data, 'ranks')) === null) fs.mkdir(join(data, 'ranks'));
  for (const [path, content] of files) fs.writeFile(join(data, path), content);
  return [...files.keys()];
}
