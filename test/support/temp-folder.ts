import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A place where syncs are free, for tests that sync often and check only the order; the usual place
 * if there is none.
 */
export const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** A private folder, removed at the end of the scope: `using folder = tempFolder()`. */
export function tempFolder(parent = tmpdir()): { readonly path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(realpathSync(parent), 'holdfast-test-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
