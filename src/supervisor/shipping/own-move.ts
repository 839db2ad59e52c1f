import { readLedger } from '../../ledger/reader.ts';

/** The newest days of a run are enough, and quick to read. */
const MOST_BYTES = 4 * 1024 * 1024;

/**
 * Whether the last pointer move that this folder knows was its own. Only then can the store hold
 * nothing newer from another node since this folder was last used.
 */
export function wasLastMoveOurs(run: string, url: string): boolean {
  try {
    const last = readLedger(run, MOST_BYTES).events.findLast(
      ({ event }) =>
        ((event.kind === 'shipped' || event.kind === 'fetched') && event.url === url) ||
        (event.kind === 'note' && event.code === 'REMOTE_CONFLICT'),
    );
    return last?.event.kind === 'shipped';
  } catch {
    return false;
  }
}
