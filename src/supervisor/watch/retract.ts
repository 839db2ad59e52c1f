import { dirname, join } from 'node:path';
import type { DurableFs } from '../../checkpoint/store/durable-fs.ts';
import { BESIDE_SUFFIX } from '../../checkpoint/store/layout.ts';
import { isCode } from '../../checkpoint/store/store-error.ts';
import type { Entry } from './look.ts';

/**
 * Takes a seal back whose checkpoint its framework has begun to replace or to delete. What it vouched for does not exist any more, so nothing is lost
 * by it; left there it would make of a new save a damaged old one. A folder in which nothing but the seal was left goes too: whoever
 * deleted the rest wanted it gone.
 */
export function retractSeal(
  fs: DurableFs,
  { kind, path, manifestFile, stamps }: Pick<Entry, 'kind' | 'path' | 'manifestFile' | 'stamps'>,
): void {
  quietly(() => fs.unlink(manifestFile));
  if (kind === 'directory' && stamps.size === 0) quietly(() => fs.rmdir(path));
  quietly(() => fs.fsyncFolder(dirname(manifestFile)));
}

/** The same for one of which nothing is left but perhaps a manifest beside where it was. */
export function retractGone(fs: DurableFs, folder: string, name: string): void {
  const path = join(folder, name);
  retractSeal(fs, { kind: 'files', path, manifestFile: `${path}${BESIDE_SUFFIX}`, stamps: new Map<string, string>() });
}

function quietly(act: () => void): void {
  try {
    act();
  } catch (thrown) {
    if (!isCode(thrown, 'ENOENT', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST')) throw thrown;
  }
}
