import { join } from 'node:path';

/** What comes with Holdfast and is not its code: the launcher, the Python package, the example that the demo runs. */
interface Installation {
  /** The program that starts this Holdfast again. */
  launcher(): string;
  /** Where a file or folder of the installation lies, by its path from the root. */
  file(path: string): string;
}

/** A clone, or a package as npm installs it: the root lies two folders up, from `src/core` and from `dist/core` alike. */
const ROOT = join(import.meta.dirname, '..', '..');

let installation: Installation = {
  launcher: () => join(ROOT, 'bin', 'holdfast'),
  file: (path) => join(ROOT, path),
};

export function launcher(): string {
  return installation.launcher();
}

export function installedFile(path: string): string {
  return installation.file(path);
}
