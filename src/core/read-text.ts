import { readFileSync } from 'node:fs';

/**
 * The text of a small file on a volume that may fail. Asked for text itself, Node aborts the whole process when the file cannot be closed,
 * which is where network file systems tell of an error; asked for bytes, it throws.
 */
export function readText(path: string): string {
  return readFileSync(path).toString('utf8');
}
