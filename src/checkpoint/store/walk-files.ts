import { join } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { LIMITS } from '../limits.ts';
import type { DurableFs } from './durable-fs.ts';

export interface FoundFile {
  /** Below the folder that was walked, with `/`. */
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
  readonly device: number;
  readonly inode: number;
}

export interface Walked {
  readonly files: readonly FoundFile[];
  /** Every folder below, the deepest first, the walked one (`''`) last: the order in which they are synced. */
  readonly folders: readonly string[];
  /** Links, pipes and whatever else is neither a file nor a folder, or has a name that is not UTF-8. */
  readonly others: readonly string[];
}

/** Every file and folder below a folder; links are not followed. */
export function walkFiles(fs: DurableFs, folder: string): Walked {
  const files: FoundFile[] = [];
  const folders: string[] = [];
  const others: string[] = [];
  const visit = (below: string, depth: number): void => {
    for (const name of fs.list(join(folder, below))) {
      const path = below === '' ? name : `${below}/${name}`;
      const stat = fs.stat(join(folder, path));
      if (stat === null) {
        // Bytes that are no UTF-8 come with this mark in their place, and no path leads to them.
        if (name.includes('\uFFFD')) others.push(path);
        continue;
      }
      const { kind, ...facts } = stat;
      if (kind === 'file') files.push({ path, ...facts });
      else if (kind === 'other') others.push(path);
      else if (depth >= LIMITS.treeDepth || files.length > LIMITS.treeEntries) throw tooMuch(join(folder, path));
      else visit(path, depth + 1);
    }
    folders.push(below);
  };
  visit('', 0);
  return { files, folders, others };
}

/** Every folder on the way to the files, the deepest first, the one they lie in (`''`) last: the order in which they are synced. */
export function foldersTo(files: readonly { readonly path: string }[]): readonly string[] {
  const folders = new Set(['']);
  for (const { path } of files) {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) folders.add(path.slice(0, end));
  }
  return [...folders].sort((a, b) => b.length - a.length);
}

function tooMuch(path: string): HoldfastError {
  const { treeDepth, treeEntries } = LIMITS;
  return new HoldfastError('CHECKPOINT_NOT_SEALABLE', {
    message: `${printable(path)} lies deeper than ${treeDepth} folders, or the checkpoint has more than ${treeEntries} files`,
    hint: 'Is this the folder of one checkpoint?',
  });
}
