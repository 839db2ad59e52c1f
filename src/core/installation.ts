import { join } from 'node:path';

/** A clone, or a package as npm installs it: the root lies two folders up, from `src/core` and from `dist/core` alike. */
const ROOT = join(import.meta.dirname, '..', '..');

/** The program that starts this Holdfast again. The single executable has another file in place of this one (tools/build-binary.ts). */
export function launcher(): string {
  return join(ROOT, 'bin', 'holdfast');
}

/** Where something lies that comes with Holdfast and is not its code: the Python package, the example that the demo runs. */
export function installedFile(path: string): string {
  return join(ROOT, path);
}
