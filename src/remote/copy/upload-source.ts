import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { relative } from 'node:path';
import { openHandleBeneath } from '../../core/beneath.ts';
import { crc32c, hex32 } from '../../core/checksums.ts';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { PART_BYTES, type SealedFile } from '../../seal/manifest.ts';
import { isCode, isNotOurs, storeError } from '../../store/disk/store-error.ts';
import type { SealedCheckpoint } from '../../store/folder/scan.ts';
import type { Store } from '../../store/folder/store.ts';

const HINT = 'It was not shipped. holdfast verify --deep reports what is wrong; holdfast resume finds the last good one.';

/**
 * Opens a file of a sealed checkpoint in the folder `run` without following links. Refuses one that
 * differs from its seal at first sight.
 */
export async function openSource(run: string, path: string, { size }: SealedFile): Promise<FileHandle> {
  let file: FileHandle;
  try {
    file = await openHandleBeneath(run, relative(run, path), constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (thrown) {
    throw unreadable(thrown, path);
  }
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw changed(path, 'is no longer a regular file');
    if (stat.size !== size) throw changed(path, `has ${stat.size} bytes, ${size} were sealed`);
    return file;
  } catch (thrown) {
    await file.close();
    throw storeError(thrown, 'read', path);
  }
}

/**
 * The manifest of a sealed checkpoint, byte for byte: the copy gets the same. Refuses a checkpoint
 * that has left its place since it was found.
 */
export function readSeal({ fs }: Pick<Store, 'fs'>, { manifestFile }: SealedCheckpoint): Buffer {
  try {
    return fs.readFile(manifestFile);
  } catch (thrown) {
    throw unreadable(thrown, manifestFile);
  }
}

/**
 * Reads a range again. Throws when the file itself, and not the transfer, differs from the seal.
 */
export async function checkSource(
  file: FileHandle,
  path: string,
  sealed: SealedFile,
  range: { offset: number; size: number },
): Promise<void> {
  const buffer = Buffer.allocUnsafe(PART_BYTES);
  const end = Math.min(range.offset + range.size, sealed.size);
  for (let offset = Math.floor(range.offset / PART_BYTES) * PART_BYTES; offset < end; offset += PART_BYTES) {
    const length = Math.min(PART_BYTES, sealed.size - offset);
    let got = 0;
    while (got < length) {
      const { bytesRead } = await file.read(buffer, got, length - got, offset + got);
      if (bytesRead === 0) throw changed(path, 'is shorter than it was sealed');
      got += bytesRead;
    }
    const expected = sealed.crc32c[offset / PART_BYTES];
    const found = hex32(crc32c(buffer.subarray(0, length)));
    if (found !== expected) throw changed(path, `has the crc32c ${found} in the part at ${offset}, ${expected ?? 'none'} was sealed`);
  }
}

function unreadable(thrown: unknown, path: string): unknown {
  const isGone = isCode(thrown, 'ENOENT', 'ELOOP', 'ENOTDIR') || isNotOurs(thrown);
  return isGone ? changed(path, 'is not there any more') : storeError(thrown, 'read', path);
}

function changed(path: string, problem: string): HoldfastError {
  return new HoldfastError('SOURCE_CHANGED', { message: `${printable(path)} ${problem}`, hint: HINT });
}
