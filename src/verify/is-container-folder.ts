import { basename, relative } from 'node:path';
import type { CheckpointReport } from './report.ts';
import { stepOfName } from '../formats/reading/steps.ts';

/**
 * Whether a folder only leads to the one checkpoint in it, as `lightning_logs` does, and is no
 * checkpoint itself. A trainer could not load such a folder, and the next save there would seem to
 * overwrite this one.
 *
 * A folder with a step in its name is a checkpoint, however deep its files lie. So is a folder with
 * an entry that has no step in its name.
 */
export function isContainerFolder(folder: string, { path, kind, step }: Pick<CheckpointReport, 'path' | 'kind' | 'step'>): boolean {
  const names = relative(folder, path)
    .split('/')
    .filter((name) => name !== '');
  const named = stepOfName(basename(folder));
  if (names.length === 0 || (named !== null && (step ?? named) === named)) return false;
  if (names.length > 1) return true;
  // Files of a group share the name of one of them, and only together they are a checkpoint.
  return kind !== 'group' && stepOfName(names[0] ?? '') !== null;
}
