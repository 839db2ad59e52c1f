import { join } from 'node:path';
import { HoldfastError } from '../../core/errors.ts';
import { printable } from '../../core/printable.ts';
import type { DurableFs } from '../disk/durable-fs.ts';
import { isCode } from '../disk/store-error.ts';
import { type Walked, walkFiles } from '../disk/walk-files.ts';
import { MANIFEST_NAME } from '../../seal/names.ts';

/**
 * Lists the files that the ranks wrote into the folder of a save, and removes a copied manifest. A
 * trainer that starts from an older checkpoint often copies all of its files, the manifest
 * included. That manifest says nothing about this save, so it goes before anything is counted. The
 * older checkpoint keeps its own.
 */
export function savedFiles(fs: DurableFs, data: string): Walked {
  const kind = fs.stat(data)?.kind ?? 'folder';
  if (kind !== 'folder') {
    throw new HoldfastError('SAVE_INCOMPLETE', {
      message: `the folder of a save, ${printable(data)}, was replaced by something else, for example by a link`,
      hint: 'The save was abandoned; earlier checkpoints are unchanged. Write into the folder that the save was given.',
    });
  }
  const copied = join(data, MANIFEST_NAME);
  try {
    if (fs.stat(copied)?.kind === 'file') fs.unlink(copied);
  } catch (thrown) {
    // Another node removed it at the same moment.
    if (!isCode(thrown, 'ENOENT')) throw thrown;
  }
  return walkFiles(fs, data);
}
