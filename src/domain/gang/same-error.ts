/** The trace of an error: what two equal failures have in common. */
export interface ErrorTrace {
  readonly exitCode: number | null;
  /** The last line of the log, normalised; null: it could not be read, and equals no other line. */
  readonly line: string | null;
}

const LONGEST_LINE = 200;
/** From the whole to its parts: an address before the number in it. */
const CHANGING: readonly RegExp[] = [
  /\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi,
  /\b0x[0-9a-f]+\b/gi,
  /\b[0-9a-f]{12,}\b/gi,
  /\d+(?:[.:,T-]\d+)*/g,
];

/**
 * A line of a log without what changes from one attempt to the next: times, addresses, numbers,
 * identifiers. A line longer than 200 characters is cut.
 */
export function normaliseLine(line: string): string {
  const text = CHANGING.reduce((left, pattern) => left.replace(pattern, '#'), line.slice(0, 4096));
  return text.replace(/\s+/g, ' ').trim().slice(0, LONGEST_LINE);
}

/** The last line of a log that says something, normalised; an empty log gives an empty line. */
export function lastLine(log: string): string {
  const lines = log.split('\n').filter((line) => line.trim() !== '');
  return normaliseLine(lines.at(-1) ?? '');
}

/** Whether two errors are the same: the same exit code and the same last line. */
export function isSameError(one: ErrorTrace, other: ErrorTrace): boolean {
  return one.line !== null && one.exitCode === other.exitCode && one.line === other.line;
}
