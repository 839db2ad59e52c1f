import type { CheckpointReport } from './report.ts';

/**
 * True if no file begins like a known format and only names made a checkpoint of them: it may have
 * a format of its own. False for a known format with a damaged file.
 */
export function isOfNoKnownFormat({ evidence, more, files }: Pick<CheckpointReport, 'evidence' | 'more' | 'files'>): boolean {
  const strangers = evidence.filter(({ code }) => code === 'FILE_UNRECOGNISED').length + (more['FILE_UNRECOGNISED'] ?? 0);
  return strangers === files && !evidence.some((one) => one.code !== 'FILE_UNRECOGNISED' && speaksAgainst(one));
}

/** Evidence with an effect on the verdict. */
export function speaksAgainst({ effect }: CheckpointReport['evidence'][number]): boolean {
  return !HARMLESS.has(effect);
}

const HARMLESS: ReadonlySet<CheckpointReport['evidence'][number]['effect']> = new Set(['warning', 'note', 'security']);
