import { closeSync, constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DurableFs } from '../../../store/disk/durable-fs.ts';
import { assertNotHollow } from '../../../store/disk/hollow-files.ts';
import { EarlyChecksums } from '../../../store/disk/early-checksums.ts';
import { PART_BYTES } from '../../../seal/manifest.ts';
import { savedFiles } from '../../../store/commit/saved-files.ts';
import { type FoundFile, NO_FILE } from '../../../store/disk/walk-files.ts';
import { crc32c, hex32 } from '../../../core/checksums.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { printable } from '../../../core/printable.ts';
import { alignedBlocks } from './aligned-memory.ts';
import { CopyTarget } from './copy-target.ts';

/** How copying a save out of memory can be given up and followed. */
export interface CopyOptions {
  readonly signal: AbortSignal;
  readonly onBytes: (done: number, total: number) => void;
}

/** The bytes of one write; parts of a seal end at the end of a block. */
const BLOCK_BYTES = 4 * 1024 * 1024;
/** Two blocks are being written while the next one is filled. */
const BLOCKS = 3;
/** Small enough to be still in the processor's cache when its checksum is taken. */
const PIECE_BYTES = 256 * 1024;

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Copies the ranks' files from memory to the save's own folder, and takes the checksum of every
 * part in the same pass. The disk works from the first block on, so the later syncs find little
 * left to do. Call this on a thread that may block.
 */
export async function copyImage(fs: DurableFs, from: string, to: string, options: CopyOptions): Promise<EarlyChecksums> {
  const { files, folders, others } = savedFiles(fs, from);
  const [other] = others;
  if (other !== undefined) throw notCopied(join(from, other), NO_FILE);
  for (const { path, size } of files) assertNotHollow(join(from, path), size);
  for (const folder of folders.toReversed()) if (folder !== '') fs.mkdir(join(to, folder));
  const early = new EarlyChecksums(fs, to);
  const total = files.reduce((sum, { size }) => sum + size, 0);
  let done = 0;
  const onPart = async (bytes: number): Promise<void> => {
    done += bytes;
    options.onBytes(done, total);
    // An abort takes effect between two blocks.
    await nextTurn();
    options.signal.throwIfAborted();
  };
  const blocks = spare ?? alignedBlocks(BLOCKS, BLOCK_BYTES);
  spare = null;
  try {
    for (const file of files) {
      const crc = await copyFile(join(from, file.path), join(to, file.path), { size: file.size, blocks, onPart });
      early.know(asLeft(fs, to, file), { path: file.path, size: file.size, crc32c: crc });
    }
  } finally {
    spare = blocks;
  }
  return early;
}

/**
 * Kept for the next copy on this thread, because new memory costs more than using it. Only one copy
 * uses them at a time.
 */
let spare: readonly Buffer[] | null = null;

interface CopyFile {
  /** None of the blocks is being written. */
  readonly blocks: readonly Buffer[];
  readonly size: number;
  readonly onPart: (bytes: number) => Promise<void>;
}

/** The checksums of the parts of the copied file. */
async function copyFile(from: string, to: string, { size, blocks, onPart }: CopyFile): Promise<readonly string[]> {
  const source = openSync(from, READ);
  try {
    const target = new CopyTarget(to, size, { isDirect: size >= BLOCK_BYTES });
    const writing: Promise<void>[] = [];
    try {
      target.stretch();
      const sums: string[] = [];
      for (let at = 0, sum = 0; at < size; at += BLOCK_BYTES) {
        const turn = (at / BLOCK_BYTES) % BLOCKS;
        await writing[turn];
        const [block, length] = [blocks[turn] as Buffer, Math.min(BLOCK_BYTES, size - at)];
        sum = readBlock(source, block.subarray(0, length), at, sum) ?? tooShort(from);
        if ((at + length) % PART_BYTES === 0 || at + length === size) {
          sums.push(hex32(sum));
          sum = 0;
        }
        writing[turn] = target.write(block, length, at);
        // A failed write is reported when its block's turn comes again, or at the end.
        writing[turn].catch(() => {});
        await onPart(length);
      }
      await Promise.all(writing);
      return sums;
    } finally {
      await Promise.allSettled(writing);
      target.close();
    }
  } finally {
    closeSync(source);
  }
}

/** The checksum of the bytes read, continued from `sum`; null when the source ends early. */
function readBlock(source: number, block: Buffer, at: number, sum: number): number | null {
  for (let done = 0; done < block.length; ) {
    const count = readSync(source, block, done, Math.min(PIECE_BYTES, block.length - done), at + done);
    if (count === 0) return null;
    sum = crc32c(block.subarray(done, done + count), sum);
    done += count;
  }
  return sum;
}

function tooShort(path: string): never {
  throw notCopied(path, 'became shorter while it was copied');
}

/**
 * Describes the copy as it is now, so that a later change is noticed and the file is read again.
 */
function asLeft(fs: DurableFs, folder: string, { path, size }: FoundFile): FoundFile {
  const stat = fs.stat(join(folder, path));
  if (stat?.kind !== 'file' || stat.size !== size) throw notCopied(join(folder, path), `is not the file of ${size} bytes that was written`);
  const { mtimeMs, device, inode } = stat;
  return { path, size, mtimeMs, device, inode };
}

function notCopied(path: string, problem: string): HoldfastError {
  return new HoldfastError('CHECKPOINT_NOT_SEALABLE', {
    message: `${printable(path)} ${problem}`,
    hint: 'A checkpoint is sealed from regular files, all of them written when the save is handed over.',
  });
}
