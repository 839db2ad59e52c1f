import { printable } from '../../core/printable.ts';
import type { Findings } from './findings.ts';
import type { Directory } from '../../bytes/source/directory.ts';

/** How many missing numbers are named one by one. */
const NAMED = 20;

/** The gaps and surplus numbers in a numbering. */
export interface Numbering {
  /** The first numbers that should be there and are not. */
  readonly missing: readonly number[];
  /** How many are missing in all. */
  readonly missingCount: number;
  /** How many numbers there are beyond the expected count: leftovers of a larger world. */
  readonly surplusCount: number;
}

/**
 * Compares numbers that should run from 0 without gaps with those that were found. Without an
 * `expected` count the largest number found decides it, so that only gaps count. Costs as much as
 * was found, whatever the numbers claim.
 */
export function compareNumbering(found: Iterable<number>, expected: number | null): Numbering {
  const numbers = new Set(found);
  let largest = -1;
  for (const number of numbers) largest = Math.max(largest, number);
  const count = expected ?? largest + 1;
  let within = 0;
  for (const number of numbers) if (number < count) within++;
  const missing: number[] = [];
  for (let number = 0; number < count && missing.length < NAMED; number++) if (!numbers.has(number)) missing.push(number);
  return { missing, missingCount: count - within, surplusCount: numbers.size - within };
}

/** Where the numbered files should lie, and where to report. */
export interface Place {
  readonly directory: Directory;
  readonly findings: Findings;
}

/** Numbered files and their expected count. */
export interface NumberedFiles {
  readonly found: Iterable<number>;
  /** How many there should be; null when nothing says so. */
  readonly expected: number | null;
  /** What the numbers count: `data-parallel ranks`. */
  readonly of: string;
  nameOf(number: number): string;
}

/** Reports each file that is missing from a numbering. */
export function reportMissing({ directory, findings }: Place, files: NumberedFiles): void {
  const { missing, missingCount } = compareNumbering(files.found, files.expected);
  const reason = files.expected === null ? 'higher numbers are there' : `the checkpoint was written by ${files.expected} ${files.of}`;
  for (const number of missing) {
    const name = files.nameOf(number);
    findings.add('FILE_MISSING', { file: directory.pathOf(name) }, `${printable(name)} is missing: ${reason}`);
  }
  const unnamed = missingCount - missing.length;
  if (unnamed > 0) findings.add('FILE_MISSING', { file: null }, `${unnamed} more files of the same kind are missing: ${reason}`);
}
