import { readFileSync, writeFileSync } from 'node:fs';

const SLOPE = '"slope": ';

/**
 * Flips one bit of a saved state: the lowest of the first digit of the slope. The file stays valid
 * with another value. Returns the changed byte.
 */
export function flipBit(path: string): number {
  const bytes = readFileSync(path);
  const start = bytes.indexOf(SLOPE);
  let at = start + SLOPE.length;
  if (start < 0) throw new Error(`no slope in ${path}`);
  if (bytes[at] === 0x2d) at += 1;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
  return at;
}
