import { execFileSync } from 'node:child_process';
import { tempFolder } from '../support/temp-folder.ts';

/**
 * Mounts the folder again where no process can write, not even root; unmounts it at the end of the
 * scope.
 */
export function mountReadOnly(path: string): { readonly path: string } & Disposable {
  const folder = tempFolder();
  execFileSync('mount', ['--bind', path, folder.path]);
  execFileSync('mount', ['-o', 'remount,bind,ro', folder.path]);
  return {
    path: folder.path,
    [Symbol.dispose]() {
      execFileSync('umount', [folder.path]);
      folder[Symbol.dispose]();
    },
  };
}
