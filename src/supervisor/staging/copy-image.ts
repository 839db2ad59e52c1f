import { closeSync, constants, fdatasync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DurableFs } from '../../checkpoint/store/durable-fs.ts';
import { EarlyChecksums } from '../../checkpoint/store/early-checksums.ts';
import { PART_BYTES } from '../../checkpoint/store/manifest.ts';
import { type FoundFile, walkFiles } from '../../checkpoint/store/walk-files.ts';
import { crc32c, hex32 } from '../../core/checksums.ts';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';

export interface CopyOptions {
  readonly signal: AbortSignal;
  readonly onBytes: (done: number, total: number) => void;
}

/** Small enough to be still in the processor's cache when it is written. */
const PIECE_BYTES = 256 * 1024;
/** The disk is sent for after so much: sooner costs more than it brings. */
const SYNC_BYTES = 64 * 1024 * 1024;

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Copies what the ranks wrote into memory to where it is sealed, and takes the checksum of every part in the same pass. The disk works from the
 * first parts on, so that the protocol's own syncs find little left to do. Meant for a thread that may wait.
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
    // Whoever wants to give it up is heard between two parts.
    await nextTurn();
    options.signal.throwIfAborted();
  };
  for (const file of files) {
    const crc = await copyFile(join(from, file.path), join(to, file.path), { size: file.size, onPart });
    early.know(asLeft(fs, to, file), { path: file.path, size: file.size, crc32c: crc });
  }
  return early;
}

interface CopyFile {
  readonly size: number;
  readonly onPart: (bytes: number) => Promise<void>;
}

/** The checksums of the parts of the file that was copied. */
async function copyFile(from: string, to: string, { size, onPart }: CopyFile): Promise<readonly string[]> {
  const source = openSync(from, READ);
  try {
    const copy = openSync(to, CREATE, 0o666);
    const disk = new Disk(copy);
    try {
      const sums: string[] = [];
      for (let at = 0; at < size; at += PART_BYTES) {
        const length = Math.min(PART_BYTES, size - at);
        const sum = copyPart(source, copy, at, length);
        if (sum === null) throw notCopied(from, 'became shorter while it was copied');
        sums.push(hex32(sum));
        disk.send(length);
        await onPart(length);
      }
      return sums;
    } finally {
      await disk.settled();
      closeSync(copy);
      disk.assertWell();
    }
  } finally {
    closeSync(source);
  }
}

const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);

/** The checksum of what was copied; null when the source ends early. */
function copyPart(source: number, copy: number, at: number, length: number): number | null {
  let sum = 0;
  for (let done = 0; done < length; ) {
    const count = readSync(source, piece, 0, Math.min(PIECE_BYTES, length - done), at + done);
    if (count === 0) return null;
    sum = crc32c(count === PIECE_BYTES ? piece : piece.subarray(0, count), sum);
    for (let written = 0; written < count; ) written += writeSync(copy, piece, written, count - written, at + done + written);
    done += count;
  }
  return sum;
}

/** Has the disk write what was copied so far while more comes. No step of the protocol; but what fails here has failed for good. */
class Disk {
  readonly #copy: number;
  #waiting = 0;
  #syncing: Promise<void> | null = null;
  #failure: Error | null = null;

  constructor(copy: number) {
    this.#copy = copy;
  }

  send(bytes: number): void {
    this.#waiting += bytes;
    if (this.#waiting < SYNC_BYTES || this.#syncing !== null) return;
    this.#waiting = 0;
    this.#syncing = new Promise((resolve) => {
      fdatasync(this.#copy, (error) => {
        // The kernel may tell an error of the disk only once: no later sync can be trusted to meet it again.
        this.#failure ??= error;
        this.#syncing = null;
        resolve();
      });
    });
  }

  async settled(): Promise<void> {
    await this.#syncing;
  }

  assertWell(): void {
    if (this.#failure !== null) throw this.#failure;
  }
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
