import { join } from 'node:path';

/**
 * The root of a clone or of the npm package: two folders up, from `src/core` and from `dist/core`
 * alike.
 */
const ROOT = join(import.meta.dirname, '..', '..');

/**
 * The program that starts this Holdfast again. The single executable replaces this file with
 * another (tools/build-binary.ts).
 */
export function launcher(): string {
  return join(ROOT, 'bin', 'holdfast');
}

/**
 * The path of a file that ships with Holdfast beside its code: the Python package, the demo's
 * example.
 */
export function installedFile(path: string): string {
  return join(ROOT, path);
}
