import { basename, relative } from 'node:path';
import type { CheckpointReport } from './report.ts';
import { stepOfName } from './steps.ts';

/**
 * Whether a folder only leads to the one checkpoint that was found in it, as `lightning_logs` does, and is none itself: a trainer that is given the
 * folder could not load it, and the next save there would seem to write over this one. A folder that is called by the step it holds is a
 * checkpoint however deep its files lie, and so is one in which a file or folder lies that has no step of its own in its name.
 */
export function liesDeeper(folder: string, { path, kind, step }: Pick<CheckpointReport, 'path' | 'kind' | 'step'>): boolean {
  const names = relative(folder, path)
    .split('/')
    .filter((name) => name !== '');
  const named = stepOfName(basename(folder));
  if (names.length === 0 || (named !== null && (step ?? named) === named)) return false;
  if (names.length > 1) return true;
  // Files of a group bear the name of one of them, and only together they are a checkpoint.
  return kind !== 'group' && stepOfName(names[0] ?? '') !== null;
}
