import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { crc32c, hex32 } from '../../core/checksums.ts';
import { HoldfastError, systemCode } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { PART_BYTES, type SealedFile } from '../store/manifest.ts';
import { storeError } from '../store/store-error.ts';

const HINT = 'It was not shipped. holdfast verify --deep tells what is wrong; holdfast resume finds the last good one.';

/** Opens a file of a sealed checkpoint; one that is not what was sealed at first sight is refused. */
export async function openSource(path: string, { size }: SealedFile): Promise<FileHandle> {
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (thrown) {
    if (['ENOENT', 'ELOOP', 'ENOTDIR'].includes(systemCode(thrown) ?? '')) throw changed(path, 'is not there any more');
    throw storeError(thrown, 'read', path);
  }
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw changed(path, 'is not a regular file any more');
    if (stat.size !== size) throw changed(path, `has ${stat.size} bytes, ${size} were sealed`);
    return file;
  } catch (thrown) {
    await file.close();
    throw storeError(thrown, 'read', path);
  }
}

/** Reads a stretch again and throws when it is the file, and not the way to the store, that does not match the seal. */
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

function changed(path: string, problem: string): HoldfastError {
  return new HoldfastError('SOURCE_CHANGED', { message: `${printable(path)} ${problem}`, hint: HINT });
}
