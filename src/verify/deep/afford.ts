import { printable } from '../../core/printable.ts';
import type { Findings } from '../../formats/reading/findings.ts';
import type { FreshLook } from '../../bytes/source/tree.ts';
import type { Check } from '../../bytes/hashing/check.ts';

/** A file with checks. `allocated` is smaller than its size if it has holes. */
export type CheckedFile = FreshLook;

const GIB = 1024 ** 3;
/** Every byte once, and once more for formats with two layers of checksums. */
const MOST_READS = 2;
/** Holes cost no disk, but reading them takes as long as reading anything. */
const MOST_HOLES = 8 * GIB;
/**
 * What deflated data may unpack to, besides a multiple of its size: zeros compress a thousandfold,
 * but only so many are worth the time.
 */
const MOST_UNPACKED = 4 * GIB;
const MOST_RATIO = 32;
/** The files and checks of a plan. */
const MOST_BYTES = 32 * 1024 * GIB;

interface Account {
  stored: number;
  unpacked: number;
}

/**
 * The files whose checks take a time in proportion to their size. Leaves out, with evidence, checks
 * that read the same bytes again and again, read holes for hours, or unpack without end.
 */
export function affordableFiles(
  checks: Iterable<Check>,
  fileOf: (name: string) => CheckedFile | null,
  findings: Findings,
): ReadonlyMap<string, CheckedFile> {
  const files = new Map<string, CheckedFile | null>();
  const accounts = new Map<string, Account>();
  for (const { file, length, encoding, decodedLength } of checks) {
    if (!files.has(file)) files.set(file, fileOf(file));
    const found = files.get(file) ?? null;
    if (found === null) continue;
    const account = accounts.get(found.identity) ?? { stored: 0, unpacked: 0 };
    accounts.set(found.identity, account);
    account.stored += length;
    if (encoding === 'deflate') account.unpacked += decodedLength;
  }
  const affordable = new Map<string, CheckedFile>();
  for (const [name, file] of files) {
    const account = file === null ? undefined : accounts.get(file.identity);
    if (file === null || account === undefined) continue;
    const excess = excessOf(file, account);
    if (excess === null) affordable.set(name, file);
    else findings.add('LIMIT_EXCEEDED', { file: name }, `the checksums of ${printable(name)} were not compared: ${excess}`);
  }
  return affordable;
}

function excessOf({ size, allocated }: CheckedFile, { stored, unpacked }: Account): string | null {
  if (stored > MOST_READS * size) return `they cover ${stored} bytes of a file that has ${size}`;
  if (stored > MOST_READS * allocated + MOST_HOLES) return `the disk holds only ${allocated} of its ${size} bytes`;
  if (unpacked > MOST_UNPACKED + MOST_RATIO * stored) return `${stored} bytes in it would unpack to ${unpacked}`;
  return stored > MOST_BYTES ? `at most ${MOST_BYTES} bytes are read` : null;
}
