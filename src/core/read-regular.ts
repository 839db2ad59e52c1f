import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, type Stats, statSync } from 'node:fs';
import { systemCode } from './errors.ts';

/**
 * Reads a small file that another user may have replaced. Opens neither a pipe, which could block
 * for ever, nor a device, which may have side effects. Fails with EISDIR, EFTYPE (neither a file
 * nor a folder), EFBIG, or the system's error. With `links: 'refused'` a link is EFTYPE, too.
 */
export function readRegularFile(path: string, maxBytes: number, links: 'followed' | 'refused' = 'followed'): Buffer {
  const isFollowed = links === 'followed';
  assertRegular(isFollowed ? statSync(path) : lstatSync(path), path, maxBytes);
  // The file may have been replaced since.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | (isFollowed ? 0 : constants.O_NOFOLLOW));
  try {
    assertRegular(fstatSync(file), path, maxBytes);
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EISDIR: 'it is a folder',
  EFTYPE: 'it is a pipe, a socket or a device',
  EFBIG: 'it is too large',
};

/** For people: why {@link readRegularFile} has failed. */
export function whyUnreadable(thrown: unknown): string {
  const code = systemCode(thrown) ?? 'unknown error';
  return REASONS[code] ?? code;
}

function assertRegular(stats: Stats, path: string, maxBytes: number): void {
  if (stats.isDirectory()) throw failure('EISDIR', `${path} is a folder`);
  if (!stats.isFile()) throw failure('EFTYPE', `${path} is neither a file nor a folder`);
  if (stats.size > maxBytes) throw failure('EFBIG', `${path} has ${stats.size} bytes, at most ${maxBytes} are read`);
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(`${code}: ${message}`), { code });
}
