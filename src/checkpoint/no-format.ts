import type { CheckpointReport } from './report.ts';

/**
 * True when not one file of it begins like a format that is known, and names alone made a checkpoint of them: it may as well be of a format of its own. A
 * known one with a damaged file is not among these.
 */
export function isOfNoKnownFormat({ evidence, more, files }: Pick<CheckpointReport, 'evidence' | 'more' | 'files'>): boolean {
  const strangers = evidence.filter(({ code }) => code === 'FILE_UNRECOGNISED').length + (more['FILE_UNRECOGNISED'] ?? 0);
  return strangers === files && !evidence.some((one) => one.code !== 'FILE_UNRECOGNISED' && speaksAgainst(one));
}

/** Evidence that is more than something to know. */
export function speaksAgainst({ effect }: CheckpointReport['evidence'][number]): boolean {
  return !HARMLESS.has(effect);
}

const HARMLESS: ReadonlySet<CheckpointReport['evidence'][number]['effect']> = new Set(['warning', 'note', 'security']);
