import { lstatSync } from 'node:fs';
import { formatBytes } from '../../core/bytes.ts';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';

/**
 * The most bytes in holes. Holes take no room, but reading them takes as long as data. Some are
 * normal: rows that were never written.
 */
const MOST_HOLES = 8 * 1024 ** 3;
const STAT_BLOCK_BYTES = 512;

/**
 * Refuses a file that is almost only holes. A copy of it fills the disk, and reading it blocks a
 * save for hours. This needs a file system that counts blocks exactly.
 */
export function assertNotHollow(path: string, size: number): void {
  if (size <= MOST_HOLES) return;
  const { blocks = 0 } = lstatSync(path, { throwIfNoEntry: false }) ?? {};
  const heldBytes = blocks * STAT_BLOCK_BYTES;
  if (size <= 2 * heldBytes + MOST_HOLES) return;
  throw new HoldfastError('CHECKPOINT_NOT_SEALABLE', {
    message: `${printable(path)} has ${formatBytes(size)}, of which only ${formatBytes(heldBytes)} were written: the rest are holes`,
    hint: 'Save the file without the holes, or with fewer of them.',
  });
}
