import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileToRead } from './checksum-files.ts';

/** Below this a file is on its way to the disk before a second sync would pay. */
const MIN_BYTES = 16 * 1024 * 1024;

/**
 * Has large files written back to the disk, one after the other, by a thread of the system: meant to run while their checksums are taken,
 * since a disk and a core can work at the same time. No step of the protocol, whose own sync follows and finds little left to do. But when
 * this fails the save has failed: the kernel may tell an error of the disk only once.
 */
export async function writeBack(folder: string, files: readonly FileToRead[], signal?: AbortSignal): Promise<void> {
  for (const { path, size } of files) {
    if (size < MIN_BYTES) continue;
    signal?.throwIfAborted();
    const file = await open(join(folder, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      await file.datasync();
    } finally {
      await file.close();
    }
  }
}
