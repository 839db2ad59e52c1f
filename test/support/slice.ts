import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';

/** With `HOLDFAST_WHOLE=1`, or when a page is recorded, suites run all cases instead of a slice. */
export const IS_WHOLE = process.env['HOLDFAST_WHOLE'] === '1' || process.env['UPDATE_DOCS'] === '1';

/** The commit that is checked out, also in another user's checkout; a fixed word without one. */
export const COMMIT = commitHash();

/**
 * Chooses this many names by the commit, so that a few commits cover all; or all names
 * (`IS_WHOLE`).
 */
export function sliceOfCommit(names: readonly string[], count: number): ReadonlySet<string> {
  return new Set(IS_WHOLE ? names : sliceBy(COMMIT, names, count));
}

/**
 * Chooses this many names by a key. The same key chooses the same names, and each name is equally
 * likely.
 */
export function sliceBy(key: string, names: readonly string[], count: number): readonly string[] {
  const ranked = names.map((name) => ({ name, rank: createHash('sha256').update(`${key} ${name}`).digest('hex') }));
  const sorted = ranked.toSorted((first, second) => (first.rank < second.rank ? -1 : 1));
  return sorted.slice(0, count).map(({ name }) => name);
}

function commitHash(): string {
  try {
    const output = execFileSync('git', ['-c', 'safe.directory=*', 'rev-parse', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      cwd: import.meta.dirname,
    });
    return output.trim();
  } catch {
    return 'no commit';
  }
}
