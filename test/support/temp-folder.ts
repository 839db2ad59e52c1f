import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where a sync costs nothing, for tests that sync often and care only for order; the usual place where there is none. */
export const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** A folder of the test's own, removed at the end of the scope: `using folder = tempFolder()`. */
export function tempFolder(parent = tmpdir()): { readonly path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(realpathSync(parent), 'holdfast-test-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
