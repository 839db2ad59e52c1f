import { readFileSync } from 'node:fs';

/** A process, told apart from a later one with the same number by when it was started. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Ticks since the machine was started; null when there is no such process. */
  readonly start: string | null;
}

export function identify(pid: number): ProcessIdentity {
  return { pid, start: startOf(pid) };
}

export function isThere({ pid, start }: ProcessIdentity): boolean {
  return start !== null && startOf(pid) === start;
}

function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may hold anything; the fields after it are plain.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}
