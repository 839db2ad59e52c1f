import type { DurableFs } from '../../src/checkpoint/store/durable-fs.ts';

/** Other bytes under the same name and of the same size: only who reads them all finds out. */
export function spoil(fs: DurableFs, file: string): void {
  const bytes = fs.readFile(file);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  fs.unlink(file);
  fs.writeFile(file, bytes);
}
