import type { DurableFs } from '../../src/store/disk/durable-fs.ts';

/**
 * Writes other bytes under the same name with the same size: only a reader of all bytes can notice.
 */
export function spoil(fs: DurableFs, file: string): void {
  const bytes = fs.readFile(file);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  fs.unlink(file);
  fs.writeFile(file, bytes);
}
