/** A checksum of the bytes, continuing from the one of the bytes before them. */
export type Checksum = (bytes: Uint8Array, previous: number) => number;

/** The output of `native/build.sh`, below the root of an installation. */
export const OWN_CRC32C = 'native/crc32c-linux-x64.node';

/** Our own code for CRC-32C, if the file is there and this processor and this system can run it. */
export function loadOwnCrc32c(path: string): Checksum | null {
  const addon: { exports: { crc32c?: Checksum } } = { exports: {} };
  try {
    process.dlopen(addon, path);
  } catch {
    return null;
  }
  return addon.exports.crc32c ?? null;
}
