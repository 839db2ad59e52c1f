import { closeSync, constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DurableFs } from '../../checkpoint/store/durable-fs.ts';
import { EarlyChecksums } from '../../checkpoint/store/early-checksums.ts';
import { PART_BYTES } from '../../checkpoint/store/manifest.ts';
import { type FoundFile, walkFiles } from '../../checkpoint/store/walk-files.ts';
import { crc32c, hex32 } from '../../core/checksums.ts';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { alignedBlocks } from './aligned-memory.ts';
import { CopyTarget } from './copy-target.ts';

export interface CopyOptions {
  readonly signal: AbortSignal;
  readonly onBytes: (done: number, total: number) => void;
}

/** Written at a time; parts of a seal end where a block does. */
const BLOCK_BYTES = 4 * 1024 * 1024;
/** Two are on their way to the disk while the next is filled. */
const BLOCKS = 3;
/** Small enough to be still in the processor's cache when its checksum is taken. */
const PIECE_BYTES = 256 * 1024;

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Copies what the ranks wrote into memory to where it is sealed, and takes the checksum of every part in the same pass. The disk works from the
 * first block on, so that the protocol's own syncs find little left to do. Meant for a thread that may wait.
 */
export async function copyImage(fs: DurableFs, from: string, to: string, options: CopyOptions): Promise<EarlyChecksums> {
  const { files, folders, others } = walkFiles(fs, from);
  const [other] = others;
  if (other !== undefined) throw notCopied(join(from, other), 'is neither a file nor a folder');
  for (const folder of folders.toReversed()) if (folder !== '') fs.mkdir(join(to, folder));
  const early = new EarlyChecksums(fs, to);
  const total = files.reduce((sum, { size }) => sum + size, 0);
  let done = 0;
  const onPart = async (bytes: number): Promise<void> => {
    done += bytes;
    options.onBytes(done, total);
    // Whoever wants to give it up is heard between two blocks.
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

/** Kept for the next copy of this thread: new memory costs more than what is done with it. Whoever copies has it for itself. */
let spare: readonly Buffer[] | null = null;

interface CopyFile {
  /** None of them is on its way anywhere. */
  readonly blocks: readonly Buffer[];
  readonly size: number;
  readonly onPart: (bytes: number) => Promise<void>;
}

/** The checksums of the parts of the file that was copied. */
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
        // Seen when its turn comes again, or in the end.
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

/** The checksum, continued from `sum`, of what was read; null when the source ends early. */
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

/** The copy as it lies there now: whoever finds it changed later reads it again. */
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
