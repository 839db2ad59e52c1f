import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder of the test's own, removed at the end of the scope: `using folder = tempFolder()`. */
export function tempFolder(): { readonly path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(realpathSync(tmpdir()), 'holdfast-test-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
