import { unpackedFile } from './unpack.ts';

/** In place of core/installation.ts: the executable starts itself, and carries its files inside. */
export function launcher(): string {
  return process.execPath;
}

/** A trainer must not stay away because its helper could not be unpacked: that is told, and a path given where nothing lies. */
export function installedFile(path: string): string {
  try {
    return unpackedFile(path);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    process.stderr.write(`holdfast: error NOT_UNPACKED: ${reason}; set HOLDFAST_CACHE to a folder of this user's own\n`);
    return `/nonexistent/holdfast/${path}`;
  }
}
