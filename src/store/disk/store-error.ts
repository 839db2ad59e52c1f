import { HoldfastError, systemCode } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';

/** True for errors of the disk or the mount, which say nothing about the entry itself. */
export function isInputOutputError(thrown: unknown): boolean {
  const code = systemCode(thrown);
  return code !== null && !['ENOENT', 'ENOTDIR', 'ELOOP', ...NOT_OURS].includes(code);
}

const NOT_OURS = ['EISDIR', 'EFTYPE', 'EFBIG'];

/**
 * True when a foreign entry has the name of one of our files: a folder, a pipe, an endless file.
 */
export function isNotOurs(thrown: unknown): boolean {
  return isCode(thrown, ...NOT_OURS);
}

/** True when the system reported one of these error codes. */
export function isCode(thrown: unknown, ...codes: readonly string[]): boolean {
  return codes.includes(systemCode(thrown) ?? '');
}

/** True when no room is left, on the volume or in the user's quota. */
export function isFull(thrown: unknown): boolean {
  return isCode(thrown, 'ENOSPC', 'EDQUOT');
}

/** The codes of a failure of the disk or of the path to it: earlier writes may be lost too. */
const DISK = ['EIO', 'EUCLEAN', 'EBADMSG', 'EREMOTEIO', 'ENXIO', 'ENODEV'];

/** True when the disk, or the path to it, has failed. */
export function isDiskError(thrown: unknown): boolean {
  if (!(thrown instanceof HoldfastError)) return isCode(thrown, ...DISK);
  // A failure without a cause comes from a thread that could not read.
  return thrown.code === 'STORE_FAILED' && (thrown.cause === undefined || isDiskError(thrown.cause));
}

/**
 * Makes an error with a hint from a system error during a write to the store. `doing` continues
 * "cannot".
 */
export function storeError(thrown: unknown, doing: string, path: string): unknown {
  const code = systemCode(thrown);
  if (thrown instanceof HoldfastError || code === null) return thrown;
  const message = `cannot ${doing} ${printable(path)}: ${code}`;
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new HoldfastError('STORE_FULL', {
        message,
        hint: 'Free space (holdfast prune), or give the run a larger volume. Earlier checkpoints are unchanged.',
        cause: thrown,
      });
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new HoldfastError('STORE_NOT_WRITABLE', {
        message,
        hint: 'The user that runs Holdfast must be able to write to the run’s folder. A read-only or root-squashed mount does not allow this.',
        cause: thrown,
      });
    default:
      return new HoldfastError('STORE_FAILED', {
        message,
        hint: 'Nothing was committed. Check the volume and the kernel’s log before the next save.',
        cause: thrown,
      });
  }
}
