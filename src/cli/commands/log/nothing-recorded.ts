import { printable } from '../../../core/printable.ts';
import { readLedger } from '../../../ledger/reader.ts';

/**
 * Explains why no event of the run can be shown: no attempt has run there, or its ledger cannot be
 * read.
 */
export function nothingRecorded(path: string): string {
  const [first] = readLedger(path).files;
  if (first === undefined) return `nothing was recorded in ${printable(path)}: no attempt has run there under holdfast run`;
  const why = first.problem ?? (first.damaged > 0 || first.isTorn ? 'its lines are damaged' : 'it is empty');
  return `nothing can be shown of ${printable(path)}: its ledger ${printable(first.name)} holds no event (${printable(why)})`;
}
