import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats, statSync } from 'node:fs';

/**
 * The bytes of a small file that anybody may have replaced by something else. A pipe would make whoever opens it wait for ever, and a device may do
 * anything: neither is opened. Fails with EISDIR, EFTYPE (neither a file nor a folder) or EFBIG, and as the system does.
 */
export function readRegularFile(path: string, maxBytes: number): Buffer {
  assertRegular(statSync(path), path, maxBytes);
  // It may have been replaced since.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    assertRegular(fstatSync(file), path, maxBytes);
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

function assertRegular(stats: Stats, path: string, maxBytes: number): void {
  if (stats.isDirectory()) throw failure('EISDIR', `${path} is a folder`);
  if (!stats.isFile()) throw failure('EFTYPE', `${path} is neither a file nor a folder`);
  if (stats.size > maxBytes) throw failure('EFBIG', `${path} has ${stats.size} bytes, at most ${maxBytes} are read`);
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(`${code}: ${message}`), { code });
}
