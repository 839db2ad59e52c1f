import { readEnds } from '../../ledger/reader.ts';

/**
 * True if the attempt has ended on some node. A node reports its end only after it has left its
 * part of every save, or has given the save up. So a part that is missing then never comes. A
 * ledger that cannot be read reports no end: the wait then has its own bound.
 */
export function hasEndedNode(run: string, attempt: number): boolean {
  try {
    return readEnds(run, (file) => file.attempt === attempt).some(({ event }) => event.kind === 'attempt-ended');
  } catch {
    return false;
  }
}
