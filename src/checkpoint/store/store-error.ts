import { HoldfastError, systemCode } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';

/** True for errors that say something about the disk or the mount and nothing about what lies there. */
export function isInputOutputError(thrown: unknown): boolean {
  const code = systemCode(thrown);
  return code !== null && !['ENOENT', 'ENOTDIR', 'ELOOP', ...NOT_OURS].includes(code);
}

const NOT_OURS = ['EISDIR', 'EFTYPE', 'EFBIG'];

/** True when something lies under the name of one of our files that none of us has put there: a folder, a pipe, a file without end. */
export function isNotOurs(thrown: unknown): boolean {
  return isCode(thrown, ...NOT_OURS);
}

export function isCode(thrown: unknown, ...codes: readonly string[]): boolean {
  return codes.includes(systemCode(thrown) ?? '');
}

/** No room is left, on the volume or for this user. */
export function isFull(thrown: unknown): boolean {
  return isCode(thrown, 'ENOSPC', 'EDQUOT');
}

/** The disk itself, or what leads to it, has failed: what was written before may be lost too. */
const DISK = ['EIO', 'EUCLEAN', 'EBADMSG', 'EREMOTEIO', 'ENXIO', 'ENODEV'];

export function isDiskError(thrown: unknown): boolean {
  if (!(thrown instanceof HoldfastError)) return isCode(thrown, ...DISK);
  // Without a cause it was a thread that could not read.
  return thrown.code === 'STORE_FAILED' && (thrown.cause === undefined || isDiskError(thrown.cause));
}

/** Makes an error with a way out of what the system said while the store was written. `doing` continues "cannot". */
export function storeError(thrown: unknown, doing: string, path: string): unknown {
  const code = systemCode(thrown);
  if (thrown instanceof HoldfastError || code === null) return thrown;
  const message = `cannot ${doing} ${printable(path)}: ${code}`;
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new HoldfastError('STORE_FULL', {
        message,
        hint: 'Free space (holdfast prune), or give the run a larger volume. Every earlier checkpoint is as it was.',
        cause: thrown,
      });
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new HoldfastError('STORE_NOT_WRITABLE', {
        message,
        hint: 'The run’s folder must be writable for the user this runs as; a read-only or root-squashed mount is not.',
        cause: thrown,
      });
    default:
      return new HoldfastError('STORE_FAILED', {
        message,
        hint: 'Nothing was committed. Look at the volume and at the kernel’s log before the next save.',
        cause: thrown,
      });
  }
}
