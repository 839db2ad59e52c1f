import { constants } from 'node:fs';
import { openHandleBeneath } from '../../core/beneath.ts';
import type { FileToRead } from './file-to-read.ts';

/** The smallest file worth an early sync: a smaller one reaches the disk soon anyway. */
const MIN_BYTES = 16 * 1024 * 1024;

/**
 * Writes large files back to the disk, one after the other, on a system thread. It runs while their
 * checksums are taken, so that disk and core work at the same time. It is no step of the protocol,
 * whose own sync follows and has little left to do. A failure here still fails the save, because
 * the kernel may report a disk error only once.
 */
export async function writeBack(folder: string, files: readonly FileToRead[], signal?: AbortSignal): Promise<void> {
  for (const { path, size } of files) {
    if (size < MIN_BYTES) continue;
    signal?.throwIfAborted();
    const file = await openHandleBeneath(folder, path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      await file.datasync();
    } finally {
      await file.close();
    }
  }
}
