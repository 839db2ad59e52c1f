import { unpackedFile } from './unpack.ts';

/** In place of core/installation.ts: the executable starts itself, and carries its files inside. */
export function launcher(): string {
  return process.execPath;
}

/**
 * If unpacking the helper fails, the trainer still starts: the failure is printed, and the returned
 * path does not exist.
 */
export function installedFile(path: string): string {
  try {
    return unpackedFile(path);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    process.stderr.write(`holdfast: error NOT_UNPACKED: ${reason}; set HOLDFAST_CACHE to a folder of this user's own\n`);
    return `/nonexistent/holdfast/${path}`;
  }
}
