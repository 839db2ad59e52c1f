import { readFileSync } from 'node:fs';

/**
 * Reads the text of a small file on a volume that may fail. When asked for text, Node aborts the
 * whole process if closing the file fails, and network file systems report errors at close. When
 * asked for bytes, it throws.
 */
export function readText(path: string): string {
  return readFileSync(path).toString('utf8');
}
