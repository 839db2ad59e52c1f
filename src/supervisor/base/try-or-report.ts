import type { RunLog } from './run-log.ts';

/**
 * Runs an action beside the trainer, and logs its error instead of throwing it, so that the trainer
 * trains on.
 */
export function tryOrReport<T>(log: Pick<RunLog, 'complain'>, begin: () => T): T | null {
  try {
    return begin();
  } catch (thrown) {
    log.complain(thrown);
    return null;
  }
}
