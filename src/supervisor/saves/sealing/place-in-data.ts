import { closeSync, constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The limits of the search: this many bytes at the start of a file, where the names are, and this
 * many files.
 */
const HEAD_BYTES = 1024 * 1024;
const MOST_FILES = 16;
/**
 * The start of a `torch.save` zip file: its signature, and the name of the first member within
 * these bytes.
 */
const SIGNATURE = 'PK\u0003\u0004';
const FIRST_MEMBER_BYTES = 512;
/** Words that trainers use in the names of random states and of places in the data. */
const PLACE = /rng|random|generator|loader|sampler|batch_?idx|data_state/i;

/**
 * Returns true when a save made with `torch.save` names neither a random state nor a place in the
 * data. A run that resumes from it draws other random numbers and sees other batches. Only names
 * are searched, so this is a reason to warn and no more.
 */
export function lacksPlaceInData(folder: string, files: readonly { readonly path: string }[]): boolean {
  let hasTorch = false;
  for (const { path } of files.slice(0, MOST_FILES)) {
    const whole = headOf(join(folder, path));
    // The bytes after the first member are numbers, in which any word can appear by chance.
    const next = whole.startsWith(SIGNATURE) ? whole.indexOf(SIGNATURE, SIGNATURE.length) : -1;
    const head = next === -1 ? whole : whole.slice(0, next);
    if (PLACE.test(path) || PLACE.test(head)) return false;
    hasTorch ||= head.startsWith(SIGNATURE) && head.slice(0, FIRST_MEMBER_BYTES).includes('/data.pkl');
  }
  return hasTorch && files.length <= MOST_FILES;
}

function headOf(path: string): string {
  let file: number | null = null;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const bytes = Buffer.allocUnsafe(HEAD_BYTES);
    return bytes.toString('latin1', 0, readSync(file, bytes, 0, HEAD_BYTES, 0));
  } catch {
    return '';
  } finally {
    if (file !== null) closeSync(file);
  }
}
