import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';

/** So many of the names, chosen by a key: the same for the same key, others for another one, each as likely as the next. */
export function sliceBy(key: string, names: readonly string[], count: number): readonly string[] {
  const rank = (name: string): string => createHash('sha256').update(`${key} ${name}`).digest('hex');
  return names.toSorted((first, second) => (rank(first) < rank(second) ? -1 : 1)).slice(0, count);
}

/** The commit that is checked out, whoever owns the checkout; where there is none, always the same word. */
export function commitHash(): string {
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
