import { join } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import { LIMITS } from '../../core/hostile-limits.ts';
import type { DurableFs } from './durable-fs.ts';

/** A regular file, as the walk found it. */
export interface FoundFile {
  /** The path below the walked folder, with `/`. */
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
  readonly device: number;
  readonly inode: number;
}

/** All entries below a folder. */
export interface Walked {
  readonly files: readonly FoundFile[];
  /**
   * Every folder, the deepest first, the walked one (`''`) last: the order in which they are
   * synced.
   */
  readonly folders: readonly string[];
  /**
   * Links, pipes and other entries that are neither a file nor a folder, and the {@link nameless}
   * ones.
   */
  readonly others: readonly string[];
  /** Entries whose name is not UTF-8, as the system shows them: no path leads to them. */
  readonly nameless: readonly string[];
}

/** Why one of {@link Walked.others} cannot be sealed; continues its path. */
export const NO_FILE = 'is neither a file nor a folder, or has a name that is not UTF-8';

/** Lists every file and folder below a folder; links are not followed. */
export function walkFiles(fs: DurableFs, folder: string): Walked {
  const files: FoundFile[] = [];
  const folders: string[] = [];
  const others: string[] = [];
  const nameless: string[] = [];
  const visit = (below: string, depth: number): void => {
    const names = fs.list(join(folder, below));
    for (const [index, name] of names.entries()) {
      const path = below === '' ? name : `${below}/${name}`;
      // A folder has each name once. Of two equal names, one is not UTF-8, and no path leads to it.
      if (name === names[index - 1]) {
        nameless.push(path);
        continue;
      }
      const stat = fs.stat(join(folder, path));
      if (stat === null) {
        // Node shows bytes that are not UTF-8 as this mark, and no path leads to them.
        if (name.includes('\uFFFD')) nameless.push(path);
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
  return { files, folders, others: [...nameless, ...others], nameless };
}

/**
 * Lists every folder on the way to the files, the deepest first, their root (`''`) last: the order
 * in which they are synced.
 */
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
