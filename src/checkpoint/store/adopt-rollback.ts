import { HoldfastError } from '../../core/errors.ts';
import { attemptNumbers, fenceOlder, newestNumber, startAttempt } from './attempt.ts';
import { at } from './layout.ts';
import { replaceFile } from './replace-file.ts';
import { formatRollback, type Rollback } from './rollback.ts';
import type { OpenStore } from './store.ts';
import { storeError } from './store-error.ts';

/**
 * Makes a decision that was taken elsewhere that of this folder. First whoever still trains here in an attempt that it is about is fenced, as by whoever
 * rolls back here: what it would seal from now on would count for nobody. What is saved next is of an attempt above them.
 */
export async function adoptRollback(store: OpenStore, rollback: Rollback): Promise<void> {
  const { fs, path, makeId } = store;
  const { throughAttempt } = rollback;
  const newest = attemptNumbers(store).at(-1) ?? 0;
  if (newest <= throughAttempt) await startAbove(store, throughAttempt);
  try {
    // Whoever made a newer one may have died before it fenced anybody, or still waits for the end of their grace.
    if (newest > throughAttempt) fenceOlder(store, throughAttempt + 1);
    replaceFile(fs, at.rollbackFile(path), formatRollback(rollback), makeId());
  } catch (thrown) {
    throw storeError(thrown, 'roll back', path);
  }
}

async function startAbove(store: OpenStore, through: number): Promise<void> {
  for (;;) {
    const attempt = Math.max(through, newestNumber(store)) + 1;
    try {
      await startAttempt(store, { gang: `rollback-${store.makeId()}`, attempt, maxWaitMs: 0 });
      return;
    } catch (thrown) {
      // Another started at the same moment, and may have died before it fenced anybody.
      if (!isOutrun(thrown)) throw thrown;
    }
  }
}

function isOutrun(thrown: unknown): boolean {
  return thrown instanceof HoldfastError && (thrown.code === 'ATTEMPT_TAKEN' || thrown.code === 'ATTEMPT_FENCED');
}
