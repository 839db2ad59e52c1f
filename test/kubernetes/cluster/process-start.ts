import { readFileSync } from 'node:fs';

/** A process with its start time, which tells it from a later process with the same number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks from the start of the machine; null when the process does not exist. */
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
    // The name in parentheses may contain any character; the fields after it are plain.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}
